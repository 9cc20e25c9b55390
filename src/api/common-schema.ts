import { z } from "zod";
import { spanMsOf } from "#api/duration.ts";
import { GROUP, memberLabels } from "#api/names.ts";
import { A_RELEASE, RELEASES } from "#api/release.ts";

/**
 * Schema of a Kubernetes quantity, such as `8Gi` or `500m`. It uses the parser of the API server instead of a pattern,
 * because a refusal would quote the pattern.
 * @param bound CEL condition of a valid value, with the parsed quantity as `q`
 * @param may valid values, for the message
 */
export function quantity(bound: string, may: string) {
  const rule = `isQuantity(string(self)) && [quantity(string(self))].all(q, ${bound})`;
  const messageExpression = `'it is ' + string(self) + '; it must be ${may}'`;
  return z.union([z.number().int(), z.string().max(MAX_QUANTITY_LENGTH)]).meta({
    intOrString: true,
    "x-kubernetes-validations": [{ rule, messageExpression, message: `it must be ${may}` }],
  });
}

/**
 * Schema of a duration of the Gateway API, such as `5m` or `1h30m`: https://gateway-api.sigs.k8s.io/geps/gep-2257/
 * @param min the shortest, such as `10s` @param max the longest
 */
export function durationSchema(min: string, max: string) {
  const rule = `self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') && duration(self) >= duration('${min}') && duration(self) <= duration('${max}')`;
  const may = `a duration from ${min} to ${max} in whole numbers, such as 1m30s`;
  const messageExpression = `'it is ' + self + '; it must be ${may}'`;
  return z
    .string()
    .max(MAX_QUANTITY_LENGTH)
    .meta({
      "x-kubernetes-validations": [{ rule, messageExpression, message: `it must be ${may}` }],
    });
}

/** Pattern of a span. Nine digits of each unit keep the sum in an int64. */
const SPAN = "^([1-9][0-9]{0,8}(w|d|h|m|s))+$";
const UNITS = "{'w': 604800, 'd': 86400, 'h': 3600, 'm': 60, 's': 1}";
const SECONDS = `self.findAll('[0-9]+[wdhms]').map(part, int(part.substring(0, part.size() - 1)) * ${UNITS}[part.substring(part.size() - 1)]).sum()`;

/**
 * Schema of a span of days, such as `30d` or `1w12h`: a day has 24 hours, a week 7 days.
 * @param bounds the shortest, the longest, and an example
 */
export function spanSchema(bounds?: readonly [min: string, max: string, example: string]) {
  const isWithin = bounds?.slice(0, 2).map((each) => (spanMsOf(each) ?? Number.NaN) / 1_000);
  const within = isWithin === undefined ? "" : ` && [${SECONDS}].all(s, s >= ${isWithin[0]} && s <= ${isWithin[1]})`;
  const [min, max, example] = bounds ?? [];
  const which =
    bounds === undefined ? "a duration such as 30d or 12h" : `a duration from ${min} to ${max} such as ${example}`;
  const may = `${which}, in weeks (w), days (d), hours (h), minutes (m) or seconds (s)`;
  return z
    .string()
    .max(MAX_QUANTITY_LENGTH)
    .meta({
      "x-kubernetes-validations": [
        {
          rule: `self.matches('${SPAN}')${within}`,
          messageExpression: `'it is ' + self + '; it must be ${may}'`,
          message: `it must be ${may}`,
        },
      ],
    });
}

/**
 * Maximum length of a quantity in characters, more than any useful one has. The API server needs a bound to estimate
 * the cost of CEL rules.
 */
const MAX_QUANTITY_LENGTH = 32;
export const size = quantity("q.isGreaterThan(quantity('0'))", "a size greater than zero, such as 8Gi");
export const amount = quantity("!q.isLessThan(quantity('0'))", "a quantity such as 500m or 2Gi");
/** Maximum number of kinds of compute resources: CPU, memory, huge pages, devices. */
export const MAX_RESOURCE_KINDS = 32;

/**
 * Enough for the WAL and three copies of a database at etcd's default quota of 2 GiB. Defragmentation and a received
 * snapshot each need a copy.
 */
export const DEFAULT_STORAGE = "8Gi";
/**
 * Release of objects of v1alpha1 that name none. It never changes: a client that leaves `version` out would start an
 * upgrade or a downgrade. v1beta1 has no default.
 */
export const DEFAULT_VERSION = "3.6.16";
/** etcd recommends at most seven voters: every write waits for a majority. */
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

/** Kubernetes limit: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ */
export const MAX_LABEL_LENGTH = 63;
/**
 * Maximum length of an annotation in characters, more than load balancers and agents need. All annotations of an object
 * may have 256 KiB.
 */
export const MAX_ANNOTATION_LENGTH = 32_768;

/** Keys of the operator's group, as a CEL condition on `key`. */
export const OWN_KEY = `key.startsWith('${GROUP}/')`;

/**
 * Schema of labels or annotations without some keys.
 * @param isExcluded CEL condition on `key` @param why follows the key in the error @param message error without the key
 */
export function keysExcluded(maxLength: number, isExcluded: string, why: string, message: string) {
  return z
    .record(z.string(), z.string().max(maxLength))
    .optional()
    .meta({
      "x-kubernetes-validations": [
        {
          rule: `self.all(key, !(${isExcluded}))`,
          messageExpression: `self.filter(key, ${isExcluded})[0] + ' ${why.replaceAll("'", "\\'")}'`,
          message,
        },
      ],
      maxProperties: 64,
    });
}

/** Schema of annotations in a spec for objects that the operator creates. @param maxLength of a value in characters */
export function annotationsUpTo(maxLength: number) {
  return keysExcluded(
    maxLength,
    OWN_KEY,
    `is one of the operator's own annotations; keys may be anything that does not start with ${GROUP}/`,
    `annotations may not start with ${GROUP}/: these are the operator's own`,
  );
}

export const annotationsSchema = annotationsUpTo(MAX_ANNOTATION_LENGTH);

/** Standard labels that the operator sets on members. They are reserved on all objects, for later releases. */
const STANDARD_LABELS = Object.keys(memberLabels("", "")).filter((key) => !key.startsWith(`${GROUP}/`));

/** Schema of labels in a spec for objects that the operator creates. Labels that the operator sets are refused. */
export const labelsSchema = keysExcluded(
  MAX_LABEL_LENGTH,
  `${OWN_KEY} || key in [${STANDARD_LABELS.map((key) => `'${key}'`).join(", ")}]`,
  "is one of the labels that the operator sets; leave it out",
  `these keys of labels are the operator's own: ${STANDARD_LABELS.join(", ")}, and those that start with ${GROUP}/`,
);

/**
 * Kinds of lists, for `.meta()`; each list needs one. Server-side apply replaces an atomic list, and merges the others. The
 * items of a set are unique texts.
 */
export const ATOMIC = { "x-kubernetes-list-type": "atomic" };
export const SET = { "x-kubernetes-list-type": "set" };
/** A list of objects that are merged by this field. Its values are unique in the list. */
export function mapBy(key: string) {
  return { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key] };
}

/** Description with the possible values of a field, one a line, as in Kubernetes' own API for `kubectl explain`. */
export function listed(meaning: string, values: Readonly<Record<string, string>>): string {
  const lines = Object.entries(values).map(([value, sentence]) => ` - \`${value}\`: ${sentence}`);
  return [meaning, "", "Possible values:", ...lines].join("\n");
}

/**
 * Schema of the conditions of a kind.
 * @param types each type with its question @param reasons each reason with its meaning
 */
export function conditionsSchema(types: Readonly<Record<string, string>>, reasons: Readonly<Record<string, string>>) {
  const condition = z.object({
    type: z.string().describe(listed("The question that the condition answers.", types)),
    status: z.enum(["True", "False", "Unknown"]).describe("The answer; Unknown when the operator could not find out."),
    reason: z.string().describe(listed("Why the answer is so, in one word.", reasons)),
    message: z.string().describe("The reason in full, with names and numbers."),
    observedGeneration: z.number().int().describe("metadata.generation of the spec that the condition is about."),
    lastTransitionTime: z.string().meta({ format: "date-time" }).describe("When the status last changed."),
  });
  return z
    .array(condition)
    .meta(mapBy("type"))
    .describe("State of the object as the operator sees it; one condition per question.");
}
