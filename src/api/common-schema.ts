import { z } from "zod";
import { A_RELEASE, RELEASES } from "#api/release.ts";

/**
 * A quantity as Kubernetes writes it, such as `8Gi` or `500m`. Kubernetes' own parser decides, not a pattern: what a user
 * would then read is a regular expression.
 * @param bound what is true of a good one, in CEL, with the parsed quantity as `q`
 * @param may what it may be, for people
 * @param word what it may say instead
 */
export function quantity(bound: string, may: string, word?: string) {
  const good = `isQuantity(string(self)) && [quantity(string(self))].all(q, ${bound})`;
  const rule = word === undefined ? good : `string(self) == '${word}' || (${good})`;
  const messageExpression = `'it is ' + string(self) + '; it must be ${may}'`;
  return z.union([z.number().int(), z.string().max(MAX_QUANTITY_LENGTH)]).meta({
    intOrString: true,
    "x-kubernetes-validations": [{ rule, messageExpression, message: `it must be ${may}` }],
  });
}

/**
 * A duration as Go writes it, such as `5m` or `1h30m`.
 * @param min the shortest, such as `10s` @param max the longest
 * @param word what it may say instead
 */
export function durationSchema(min: string, max: string, word?: string) {
  const good = `self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('${min}') && duration(self) <= duration('${max}')`;
  const may = `${word === undefined ? "" : `${word} or `}a duration from ${min} to ${max}, such as 1m30s`;
  const rule = word === undefined ? good : `self == '${word}' || (${good})`;
  const messageExpression = `'it is ' + self + '; it must be ${may}'`;
  return z
    .string()
    .max(MAX_QUANTITY_LENGTH)
    .meta({
      "x-kubernetes-validations": [{ rule, messageExpression, message: `it must be ${may}` }],
    });
}

/** No quantity that means something is longer; the API server needs a bound to know what a rule costs. */
const MAX_QUANTITY_LENGTH = 32;
export const size = quantity("q.isGreaterThan(quantity('0'))", "a size greater than zero, such as 8Gi");
export const amount = quantity("!q.isLessThan(quantity('0'))", "a quantity such as 500m or 2Gi");
/** Kinds of compute resources: processor, memory, huge pages, devices. */
export const MAX_RESOURCE_KINDS = 32;

/** Enough for etcd's default quota of 2 GiB, a second copy while defragmenting, a third while receiving a snapshot, and the WAL. */
export const DEFAULT_STORAGE = "8Gi";
/** The newest patch of the middle one of the three supported minors. */
export const DEFAULT_VERSION = "3.6.16";
/** etcd advises at most seven voters: every write waits for a majority of them. */
export const MAX_REPLICAS = 7;

export const replicasSchema = z
  .number()
  .int()
  .min(0)
  .max(MAX_REPLICAS)
  .describe(
    "How many voting members are wanted, 1 to 7. Odd numbers are better: 4 tolerate no more failures than 3. 0 puts the cluster to sleep: members stop, and start again with their data when it is 1 or more.",
  );

export const versionSchema = z
  .string()
  .meta({
    "x-kubernetes-validations": [
      {
        rule: `self.matches('${RELEASES}')`,
        messageExpression: `'version is ' + self + '; it must be ${A_RELEASE}'`,
        message: `version must be ${A_RELEASE}`,
      },
    ],
    maxLength: 32,
  })
  .describe("The etcd release that members run, such as 3.6.16.");

export const resourcesSchema = z.object({
  limits: z.record(z.string(), amount).meta({ maxProperties: MAX_RESOURCE_KINDS }).optional(),
  requests: z.record(z.string(), amount).meta({ maxProperties: MAX_RESOURCE_KINDS }).optional(),
});

/** A map of labels or annotations that people give to what the operator makes. @param what for people, in the plural */
function ownKeysExcluded(what: string) {
  return z
    .record(z.string(), z.string())
    .optional()
    .meta({
      "x-kubernetes-validations": [
        {
          rule: "self.all(key, !key.startsWith('etcd.improbable.io/'))",
          messageExpression: `self.filter(key, key.startsWith('etcd.improbable.io/'))[0] + ' is one of the operator\\'s own ${what}; keys may be anything that does not start with etcd.improbable.io/'`,
          message: `${what} may not start with etcd.improbable.io/: these are the operator's own`,
        },
      ],
      maxProperties: 64,
    });
}

export const annotationsSchema = ownKeysExcluded("annotations");
export const labelsSchema = ownKeysExcluded("labels");

export const STORAGE_IS_FIXED = {
  "x-kubernetes-validations": [
    {
      rule: "self == oldSelf",
      message: "storage cannot be changed after creation; make a new cluster to use other volumes",
    },
  ],
};

/** The values that a field may have, in the form that Kubernetes itself uses, which `kubectl explain` shows line by line. */
export function listed(meaning: string, values: Readonly<Record<string, string>>): string {
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
