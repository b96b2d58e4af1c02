/**
 * Kubernetes' own objects, typed by the models of client-node instead of interfaces that repeat them
 * (docs/decisions/0020-models-of-client-node.md). Types only: nothing of the library is loaded for them.
 *
 * A model says what the fields are called and what a valid object holds. It does not say that an object from outside
 * is valid; so what is read is `Unchecked`, until a reader has looked at it. Fields whose JSON name is a word of
 * TypeScript (`continue`, `from`, `default`) have another name in the models: those are not taken from here.
 */
export type {
  AdmissionregistrationV1ServiceReference,
  AdmissionregistrationV1WebhookClientConfig,
  CoreV1Event,
  V1Condition,
  V1CustomResourceDefinition,
  V1Lease,
  V1LeaseSpec,
  V1ObjectMeta,
  V1OwnerReference,
  V1Pod,
  V1PodCondition,
  V1PodStatus,
  V1PodTemplateSpec,
  V1RuleWithOperations,
  V1Scale,
  V1ScaleSpec,
  V1ScaleStatus,
  V1Secret,
  V1Status,
  V1StatusCause,
  V1StatusDetails,
  V1ValidatingWebhook,
  V1ValidatingWebhookConfiguration,
} from "@kubernetes/client-node";

type Plain = Date | string | number | boolean;

/** An object from outside: it may have the fields of its model, and anything in them. */
export type Unchecked<Model> = Model extends object ? { readonly [Field in keyof Model]?: unknown } : never;

/** A model as its JSON: read only, times are texts. */
export type Sent<Model> = Model extends Date
  ? string
  : Model extends Plain
    ? Model
    : Model extends readonly (infer Item)[]
      ? readonly Sent<Item>[]
      : { readonly [Field in keyof Model]: Sent<Model[Field]> };

/** A model as it is decoded field by field: what was not sent, or is not read, is not there. Times are Dates. */
export type Decoded<Model> = Model extends Plain
  ? Model
  : Model extends readonly (infer Item)[]
    ? Decoded<Item>[]
    : string extends keyof Model
      ? Model
      : { [Field in keyof Model]?: Decoded<Model[Field]> | undefined };
