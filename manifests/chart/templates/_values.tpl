{{- /* Refuses values that do not fit together; each by itself is held to values.schema.json. */ -}}
{{- define "podseidon.check" -}}
{{- $v := .Values -}}
{{- if eq $v.topology "worker" -}}
  {{- if not $v.cell -}}{{- fail "cell is required with topology=worker: the name of this cluster, for example worker-1" -}}{{- end -}}
  {{- if not $v.webhook.address -}}
    {{- fail "webhook.address is required with topology=worker: HOST or HOST:PORT of the webhook in the core" -}}
  {{- end -}}
{{- else if $v.webhook.address -}}
  {{- fail (printf "webhook.address is allowed only with topology=worker, but it is %s" $v.topology) -}}
{{- else if $v.cell -}}
  {{- fail (printf "cell is allowed only with topology=worker, but it is %s; a core has cells" $v.topology) -}}
{{- end -}}
{{- if eq $v.topology "core" -}}
  {{- if not $v.cells -}}{{- fail "cells is required with topology=core: the names of all worker clusters" -}}{{- end -}}
  {{- if $v.admission.enabled -}}
    {{- fail "admission.enabled is not allowed with topology=core: the workers have the webhook configuration" -}}
  {{- end -}}
{{- else if $v.cells -}}
  {{- fail (printf "cells is allowed only with topology=core, but it is %s" $v.topology) -}}
{{- end -}}
{{- $isMade := eq $v.tls.source "certManager" -}}
{{- if and $isMade (eq $v.topology "worker") -}}
  {{- fail "tls.source=certManager is not allowed with topology=worker: the webhook is in the core; set admission.caBundle" -}}
{{- end -}}
{{- $isIssued := eq $v.tls.source "builtin" -}}
{{- if and $isIssued $v.admission.caBundle -}}
  {{- fail "admission.caBundle is not allowed with tls.source=builtin: the aggregator sets it" -}}
{{- end -}}
{{- if and $v.tls.builtin.names (not (and $isIssued (eq $v.topology "core"))) -}}
  {{- fail "tls.builtin.names is allowed only with topology=core and tls.source=builtin" -}}
{{- end -}}
{{- if and $v.admission.enabled (not $v.admission.caBundle) (not $isMade) (not $isIssued) -}}
  {{- fail "admission.caBundle is required with admission.enabled: the authority of the webhook's certificate, in base64" -}}
{{- end -}}
{{- if and $isMade $v.admission.caBundle -}}
  {{- fail "admission.caBundle is not allowed with tls.source=certManager, which injects it" -}}
{{- end -}}
{{- end -}}

{{- define "podseidon.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}{{- printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) -}}{{- end -}}
{{- end -}}

{{- /* Flags that follow from values. In: the values' root, component. Out: {items: []} */ -}}
{{- define "podseidon.flags" -}}
{{- $v := .root.Values -}}
{{- $flags := list -}}
{{- if eq .component "generator" -}}
  {{- with $v.generator.protectionSelector -}}
    {{- $flags = append $flags (printf "--deployment-plugin-protection-selector=app.kubernetes.io/name!=podseidon,%s" .) -}}
  {{- end -}}
  {{- with $v.generator.defaultMode -}}{{- $flags = append $flags (printf "--generator-default-mode=%s" .) -}}{{- end -}}
  {{- with $v.generator.sources -}}{{- $flags = append $flags (printf "--generator-sources=%s" (join "," .)) -}}{{- end -}}
{{- else if and (eq .component "webhook") $v.cells -}}
  {{- $configs := list -}}
  {{- $clients := list -}}
  {{- range $v.cells -}}
    {{- $configs = append $configs (printf "%s=/etc/podseidon/workers/%s" . .) -}}
    {{- $clients = append $clients (printf "%s=%s" . .) -}}
  {{- end -}}
  {{- $flags = append $flags (printf "--webhook-worker-client-provider.map-configs=%s" (join "," $configs)) -}}
  {{- $flags = append $flags (printf "--webhook-client-cells=%s" (join "," $clients)) -}}
{{- else if and (eq .component "aggregator") $v.admission.excludedNamespaces -}}
  {{- $configuration := .root.Files.Get "base/admission/validating-webhook-configuration.yaml" | fromYaml -}}
  {{- $first := first (first $configuration.webhooks).namespaceSelector.matchExpressions -}}
  {{- $all := concat $first.values $v.admission.excludedNamespaces -}}
  {{- $flags = append $flags (printf "--aggregator-coverage-excluded-namespaces=%s" (join "," $all)) -}}
{{- end -}}
{{- dict "items" (concat $flags (index $v .component).extraArgs) | toJson -}}
{{- end -}}

{{- /* Changes a Deployment of a role. In: root, object. */ -}}
{{- define "podseidon.deployment" -}}
{{- $component := index .object.metadata.labels "app.kubernetes.io/component" -}}
{{- $values := index .root.Values $component -}}
{{- $spec := .object.spec -}}
{{- $pod := $spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $_ := set $container "image" (include "podseidon.image" .root) -}}
{{- $flags := include "podseidon.flags" (dict "root" .root "component" $component) | fromJson -}}
{{- $_ := set $container "args" (concat $container.args ($flags.items | default list)) -}}
{{- if not (kindIs "invalid" $values.replicas) -}}{{- $_ := set $spec "replicas" $values.replicas -}}{{- end -}}
{{- with $values.resources -}}{{- $_ := set $container "resources" . -}}{{- end -}}
{{- with $values.priorityClassName -}}{{- $_ := set $pod "priorityClassName" . -}}{{- end -}}
{{- with $values.nodeSelector -}}{{- $_ := set $pod "nodeSelector" . -}}{{- end -}}
{{- with $values.tolerations -}}{{- $_ := set $pod "tolerations" . -}}{{- end -}}
{{- with .root.Values.image.pullSecrets -}}{{- $_ := set $pod "imagePullSecrets" . -}}{{- end -}}
{{- end -}}

{{- /* Changes the webhook configuration. In: root, object. */ -}}
{{- define "podseidon.configuration" -}}
{{- $v := .root.Values -}}
{{- range $index, $webhook := .object.webhooks -}}
  {{- with $v.admission.caBundle -}}{{- $_ := set $webhook.clientConfig "caBundle" . -}}{{- end -}}
  {{- if eq $index 0 -}}{{- $_ := set $webhook "failurePolicy" $v.admission.failurePolicy -}}{{- end -}}
  {{- $expression := first $webhook.namespaceSelector.matchExpressions -}}
  {{- $_ := set $expression "values" (concat $expression.values $v.admission.excludedNamespaces) -}}
{{- end -}}
{{- if eq $v.tls.source "certManager" -}}
  {{- $_ := set .object.metadata "annotations" (dict "cert-manager.io/inject-ca-from" "podseidon-system/podseidon-webhook") -}}
{{- end -}}
{{- end -}}

{{- /* Changes the Service of the webhook. In: root, object. */ -}}
{{- define "podseidon.service" -}}
{{- $values := .root.Values.webhook.service -}}
{{- if ne $values.type "ClusterIP" -}}{{- $_ := set .object.spec "type" $values.type -}}{{- end -}}
{{- with $values.loadBalancerSourceRanges -}}{{- $_ := set $.object.spec "loadBalancerSourceRanges" . -}}{{- end -}}
{{- with $values.annotations -}}{{- $_ := set $.object.metadata "annotations" . -}}{{- end -}}
{{- end -}}
