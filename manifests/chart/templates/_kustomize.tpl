{{- /*
The objects come from manifests/base and manifests/components, which kustomize reads as well: here is what kustomize
does with them. A text that a template returns is JSON where something else goes on with it.
*/ -}}

{{- /* The objects of the kustomization or component in a folder, before patches. In: root, folder. Out: {items: []} */ -}}
{{- define "podseidon.resources" -}}
{{- $root := .root -}}
{{- $items := list -}}
{{- $kustomization := $root.Files.Get (printf "%s/kustomization.yaml" .folder) | fromYaml -}}
{{- if not $kustomization -}}{{- fail (printf "the chart has no %s/kustomization.yaml" .folder) -}}{{- end -}}
{{- range $resource := $kustomization.resources -}}
  {{- $path := printf "%s/%s" $.folder $resource | clean -}}
  {{- if hasSuffix ".yaml" $path -}}
    {{- $items = concat $items (include "podseidon.documents" ($root.Files.Get $path) | fromJson).items -}}
  {{- else -}}
    {{- $items = concat $items (include "podseidon.resources" (dict "root" $root "folder" $path) | fromJson).items -}}
  {{- end -}}
{{- end -}}
{{- range $kustomization.configMapGenerator -}}
  {{- $data := dict -}}
  {{- range $file := .files -}}{{- $_ := set $data $file ($root.Files.Get (printf "%s/%s" $.folder $file)) -}}{{- end -}}
  {{- $metadata := dict "name" .name "namespace" .namespace "labels" $kustomization.generatorOptions.labels -}}
  {{- $items = append $items (dict "apiVersion" "v1" "kind" "ConfigMap" "metadata" $metadata "data" $data) -}}
{{- end -}}
{{- dict "items" $items | toJson -}}
{{- end -}}

{{- /* The objects of a YAML file. In: its text. Out: {items: []} */ -}}
{{- define "podseidon.documents" -}}
{{- $items := list -}}
{{- range regexSplit "(?m)^---$" . -1 -}}
  {{- $object := fromYaml . -}}
  {{- if hasKey $object "kind" -}}{{- $items = append $items $object -}}
  {{- else if $object.Error -}}{{- fail $object.Error -}}{{- end -}}
{{- end -}}
{{- dict "items" $items | toJson -}}
{{- end -}}

{{- /* Changes an object by a JSON patch of the operations test, add, remove and replace. In: object, operations. */ -}}
{{- define "podseidon.patch" -}}
{{- $object := .object -}}
{{- range $operation := .operations -}}
  {{- $segments := splitList "/" (trimPrefix "/" $operation.path) -}}
  {{- $last := last $segments -}}
  {{- $place := dict "node" $object "parent" dict "key" "" -}}
  {{- range initial $segments -}}
    {{- if kindIs "slice" $place.node -}}
      {{- $_ := set $place "node" (index $place.node (int .)) -}}
    {{- else -}}
      {{- $_ := set $place "parent" $place.node -}}
      {{- $_ := set $place "key" . -}}
      {{- $_ := set $place "node" (get $place.node .) -}}
    {{- end -}}
  {{- end -}}
  {{- if eq $last "-" -}}
    {{- $_ := set $place.parent $place.key (append $place.node $operation.value) -}}
  {{- else if eq $operation.op "test" -}}
    {{- $found := index $place.node (kindIs "slice" $place.node | ternary (atoi $last) $last) -}}
    {{- if ne (toJson $found) (toJson $operation.value) -}}
      {{- fail (printf "%s of %s is %s, not %s" $operation.path $object.metadata.name (toJson $found) (toJson $operation.value)) -}}
    {{- end -}}
  {{- else if kindIs "slice" $place.node -}}
    {{- $items := list -}}
    {{- range $index, $item := $place.node -}}
      {{- if ne $index (atoi $last) -}}{{- $items = append $items $item -}}
      {{- else if eq $operation.op "replace" -}}{{- $items = append $items $operation.value -}}{{- end -}}
    {{- end -}}
    {{- $_ := set $place.parent $place.key $items -}}
  {{- else if eq $operation.op "remove" -}}
    {{- $_ := unset $place.node $last -}}
  {{- else -}}
    {{- $_ := set $place.node $last $operation.value -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- /* The objects of components, one on top of the other. In: root, folders, and replace, pairs of texts in patches. */ -}}
{{- define "podseidon.components" -}}
{{- $objects := dict "items" list -}}
{{- range .folders -}}
  {{- $in := dict "root" $.root "folder" . "replace" $.replace "items" $objects.items -}}
  {{- $objects = include "podseidon.component" $in | fromJson -}}
{{- end -}}
{{- $objects | toJson -}}
{{- end -}}

{{- /*
What a component makes of the objects before it, with its own. In: root, folder, items, and replace. Out: {items: []}
*/ -}}
{{- define "podseidon.component" -}}
{{- $own := include "podseidon.resources" . | fromJson -}}
{{- $objects := dict "items" (concat .items $own.items) -}}
{{- $kustomization := .root.Files.Get (printf "%s/kustomization.yaml" .folder) | fromYaml -}}
{{- range $entry := $kustomization.patches -}}
  {{- $text := $entry.patch -}}
  {{- range $from, $to := $.replace -}}{{- $text = replace $from $to $text -}}{{- end -}}
  {{- range $object := $objects.items -}}
    {{- if and (eq $object.kind $entry.target.kind) (eq $object.metadata.name $entry.target.name) -}}
      {{- include "podseidon.patch" (dict "object" $object "operations" (fromYamlArray $text)) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $objects | toJson -}}
{{- end -}}
