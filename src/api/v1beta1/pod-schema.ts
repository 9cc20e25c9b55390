import { z } from "zod";
import { annotationsSchema, labelsSchema, mapBy, resourcesSchema } from "#api/common-schema.ts";

/**
 * Maximum number of containers, and of volumes, in a pod: more than pods need. The API server needs a bound to estimate
 * the cost of CEL rules.
 */
const MAX_CONTAINERS = 16;

const HOST = "([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|[[][0-9A-Fa-f:]+])(:[0-9]+)?";
const PART = "[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*";
/**
 * Pattern of an image name without tag, as container runtimes parse it. The API server accepts any text, and then the
 * pod does not start. It reads the same in RE2 and in JavaScript.
 */
export const REPOSITORY = `^(${HOST}/)?${PART}(/${PART})*$`;

export const imageSchema = z
  .object({
    repository: z
      .string()
      .min(1)
      .max(255)
      .meta({
        "x-kubernetes-validations": [
          {
            rule: `self.matches('${REPOSITORY}')`,
            messageExpression:
              "'repository is ' + self + '; it must be an image without scheme, tag and digest, such as registry.example/etcd'",
            message: "repository must be an image without scheme, tag and digest, such as registry.example/etcd",
          },
        ],
      })
      .optional()
      .describe(
        "Where the image is, without tag, such as registry.example/etcd. Without it the operator's --etcd-repository.",
      ),
    digest: z
      .string()
      .max(128)
      .meta({
        "x-kubernetes-validations": [
          {
            rule: "self.matches('^sha256:[0-9a-f]{64}$')",
            messageExpression: "'digest is ' + self + '; it must be sha256: and 64 hexadecimal digits'",
            message: "digest must be sha256: and 64 hexadecimal digits",
          },
        ],
      })
      .optional()
      .describe("Digest of the image, instead of the tag vVERSION. spec.version must be the release in that image."),
    pullPolicy: z
      .enum(["Always", "IfNotPresent", "Never"])
      .optional()
      .describe("As in a container. Without it IfNotPresent."),
    pullSecrets: z
      .array(z.object({ name: z.string().min(1).max(253).describe("Name of a Secret in the same namespace.") }))
      .max(MAX_CONTAINERS)
      .meta(mapBy("name"))
      .optional()
      .describe("Secrets for pulling the image, as imagePullSecrets of a Pod."),
  })
  .describe("The image of etcd. A change restarts members one after another.");

/**
 * Schema of a container: all fields of a Pod's container are allowed. Only the resources are validated here, before the
 * API server validates the pod.
 */
const containerSchema = z.looseObject({
  name: z
    .string()
    .min(1)
    .max(63)
    .describe("etcd is the operator's container; any other name is an additional container."),
  resources: resourcesSchema.optional().describe("Compute resources, as in a Pod."),
});

export const podTemplateSchema = z
  .object({
    metadata: z
      .object({
        labels: labelsSchema.describe("Labels for each member's pod."),
        annotations: annotationsSchema.describe("Annotations for each member's pod."),
      })
      .optional(),
    spec: z
      .looseObject({
        containers: z
          .array(containerSchema)
          .max(MAX_CONTAINERS)
          .optional()
          .meta(mapBy("name"))
          .describe("Containers, merged by name."),
        affinity: z
          .looseObject({})
          .optional()
          .describe("As in a Pod. It replaces the default, which spreads members over nodes and zones."),
      })
      .optional()
      .describe("The spec of a Pod, merged into the operator's own as kubectl patch would."),
  })
  .describe("Additions to the pods of members. A change restarts members one after another.");
