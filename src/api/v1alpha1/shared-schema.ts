import { z } from "zod";
import { ATOMIC, annotationsSchema, DEFAULT_STORAGE, resourcesSchema, size } from "#api/common-schema.ts";

const claimSchema = z
  .object({
    accessModes: z
      .array(z.enum(["ReadWriteOnce", "ReadWriteOncePod"]))
      .min(1)
      .max(1)
      .meta(ATOMIC)
      .default(["ReadWriteOnce"])
      .describe("One mode; a volume belongs to one member, so shared modes are not accepted."),
    storageClassName: z
      .string()
      .max(253)
      .optional()
      .describe("Storage class; without it the default class of the Kubernetes cluster is used."),
    volumeMode: z.enum(["Filesystem"]).default("Filesystem"),
    volumeAttributesClassName: z.string().max(253).optional(),
    selector: z
      .looseObject({})
      .optional()
      .describe("Label selector for existing volumes, as in a PersistentVolumeClaim."),
    resources: z
      .object({
        requests: z
          .object({ storage: size.default(DEFAULT_STORAGE).describe("Size of each member's volume.") })
          .default({ storage: DEFAULT_STORAGE }),
      })
      .default({ requests: { storage: DEFAULT_STORAGE } }),
  })
  .describe("The claim made for each member, as the spec of a PersistentVolumeClaim.");

export const DEFAULT_CLAIM = {
  accessModes: ["ReadWriteOnce" as const],
  volumeMode: "Filesystem" as const,
  resources: { requests: { storage: DEFAULT_STORAGE } },
};

export const storageSchema = z
  .object({ volumeClaimTemplate: claimSchema.default(DEFAULT_CLAIM) })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "self == oldSelf",
        message: "storage cannot be changed after creation; make a new cluster to use other volumes",
      },
    ],
  })
  .describe("Where members keep their data. Claims outlive the cluster: deleting it keeps them.");

export const podTemplateSchema = z
  .object({
    metadata: z.object({ annotations: annotationsSchema.describe("Annotations for each member's pod.") }).optional(),
    resources: resourcesSchema.optional().describe("Compute resources of the etcd container, as in a Pod."),
    affinity: z
      .looseObject({})
      .optional()
      .describe(
        "Scheduling constraints as in a Pod. They replace the default, which spreads members over nodes and zones.",
      ),
  })
  .describe("Additions to the pods of members. A change restarts members one after another.");
