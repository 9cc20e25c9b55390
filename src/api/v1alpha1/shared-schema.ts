import { z } from "zod";

/**
 * A quantity as Kubernetes writes it, such as `8Gi` or `500m`. Kubernetes' own parser decides, not a pattern: what a user
 * would then read is a regular expression.
 * @param bound what is true of a good one, in CEL, with the parsed quantity as `q`
 * @param may what it may be, for people
 */
function quantity(bound: string, may: string) {
  const rule = `isQuantity(string(self)) && [quantity(string(self))].all(q, ${bound})`;
  const messageExpression = `'it is ' + string(self) + '; it must be ${may}'`;
  return z.union([z.number().int(), z.string().max(MAX_QUANTITY_LENGTH)]).meta({
    intOrString: true,
    "x-kubernetes-validations": [{ rule, messageExpression, message: `it must be ${may}` }],
  });
}

/** No quantity that means something is longer; the API server needs a bound to know what a rule costs. */
const MAX_QUANTITY_LENGTH = 32;
const size = quantity("q.isGreaterThan(quantity('0'))", "a size greater than zero, such as 8Gi");
const amount = quantity("!q.isLessThan(quantity('0'))", "a quantity such as 500m or 2Gi");
/** Kinds of compute resources: processor, memory, huge pages, devices. */
const MAX_RESOURCE_KINDS = 32;

/** Enough for etcd's default quota of 2 GiB, a second copy while defragmenting, a third while receiving a snapshot, and the WAL. */
export const DEFAULT_STORAGE = "8Gi";
/** The newest patch of the middle one of the three supported minors. */
export const DEFAULT_VERSION = "3.6.16";
/** etcd advises at most seven voters: every write waits for a majority of them. */
export const MAX_REPLICAS = 7;

export const versionSchema = z
  .string()
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "self.matches('^3[.](5[.](1[1-9]|[2-9][0-9]|[1-9][0-9][0-9]+)|6[.](0|[1-9][0-9]*)|7[.](0|[1-9][0-9]*))$')",
        messageExpression:
          "'version is ' + self + '; it must be an etcd release without a leading v: 3.5.11 or later, 3.6.x or 3.7.x'",
        message: "version must be an etcd release without a leading v: 3.5.11 or later, 3.6.x or 3.7.x",
      },
    ],
    maxLength: 32,
  })
  .describe("The etcd release that members run, such as 3.6.16.");

const resourcesSchema = z
  .object({
    limits: z.record(z.string(), amount).meta({ maxProperties: MAX_RESOURCE_KINDS }).optional(),
    requests: z.record(z.string(), amount).meta({ maxProperties: MAX_RESOURCE_KINDS }).optional(),
  })
  .describe("Compute resources of the etcd container, as in a Pod.");

const claimSchema = z
  .object({
    accessModes: z
      .array(z.enum(["ReadWriteOnce", "ReadWriteOncePod"]))
      .min(1)
      .max(1)
      .default(["ReadWriteOnce"])
      .describe("One mode; a volume belongs to one member, so shared modes are not accepted."),
    storageClassName: z
      .string()
      .optional()
      .describe("Storage class; without it the default class of the Kubernetes cluster is used."),
    volumeMode: z.enum(["Filesystem"]).default("Filesystem"),
    volumeAttributesClassName: z.string().optional(),
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
    metadata: z
      .object({
        annotations: z
          .record(z.string(), z.string())
          .optional()
          .meta({
            "x-kubernetes-validations": [
              {
                rule: "self.all(key, !key.startsWith('etcd.improbable.io/'))",
                messageExpression:
                  "self.filter(key, key.startsWith('etcd.improbable.io/'))[0] + ' is one of the operator\\'s own annotations; keys may be anything that does not start with etcd.improbable.io/'",
                message: "annotations may not start with etcd.improbable.io/: these are the operator's own",
              },
            ],
            maxProperties: 64,
          })
          .describe("Annotations for each member's pod."),
      })
      .optional(),
    resources: resourcesSchema.optional(),
    affinity: z
      .looseObject({})
      .optional()
      .describe(
        "Scheduling constraints as in a Pod. They replace the default, which spreads members over nodes and zones.",
      ),
  })
  .describe(
    "What the pods of members look like, beyond what the operator sets. A change restarts members one after another.",
  );

/** The values that a field may have, in the form that Kubernetes itself uses, which `kubectl explain` shows line by line. */
function listed(meaning: string, values: Readonly<Record<string, string>>): string {
  const lines = Object.entries(values).map(([value, sentence]) => ` - \`${value}\`: ${sentence}`);
  return [meaning, "", "Possible values:", ...lines].join("\n");
}

/** Conditions of a kind. @param types each with the question that it answers @param reasons each with what it means */
export function conditionsSchema(types: Readonly<Record<string, string>>, reasons: Readonly<Record<string, string>>) {
  const condition = z.object({
    type: z.string().describe(listed("The question that the condition answers.", types)),
    status: z.enum(["True", "False", "Unknown"]).describe("The answer; Unknown when the operator could not look."),
    reason: z.string().describe(listed("Why the answer is what it is, in a word.", reasons)),
    message: z.string().describe("The same for people, with names and numbers."),
    observedGeneration: z.number().int().describe("metadata.generation of the spec that was looked at."),
    lastTransitionTime: z.string().meta({ format: "date-time" }).describe("When the status last changed."),
  });
  return z
    .array(condition)
    .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] })
    .describe("What the operator says of the object; one condition per question.");
}
