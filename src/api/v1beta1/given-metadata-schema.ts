import { z } from "zod";
import { annotationsUpTo, labelsSchema } from "#api/common-schema.ts";

// Why are keys and values of these labels and annotations checked, and those of other objects not?
//   The API server refuses an invalid one with the whole object. Then no certificate in a Secret could be renewed.

/**
 * Number of labels, and of annotations. All annotations then have at most 72 KiB of ASCII. Kubernetes permits 256 KiB;
 * the rest is left for those that people add.
 */
const MAX_KEYS = 32;
/** Length of a value in characters: enough for a list of namespaces. */
const MAX_ANNOTATION_LENGTH = 2_048;
/** Length of a key in characters. Kubernetes permits 64 more, which no known key needs. */
const MAX_KEY_LENGTH = 253;

const DOMAIN_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const KEY = `^(${DOMAIN_PART}([.]${DOMAIN_PART})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`;
const IS_INVALID_KEY = `key.size() > ${MAX_KEY_LENGTH} || !key.matches('${KEY}')`;
const A_KEY =
  "it must be [domain/]name of at most 253 characters; the name has up to 63 letters, digits and - _ . between letters or digits";
const IS_INVALID_VALUE = "!self[key].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')";
const A_VALUE = "it must be up to 63 letters, digits and - _ . that begin and end with a letter or digit";

function refusing(isInvalid: string, what: "key" | "value", which: string) {
  return {
    rule: `self.all(key, !(${isInvalid}))`,
    messageExpression: `'the ${what} ${what === "key" ? "" : "of "}' + self.filter(key, ${isInvalid})[0] + ' is invalid: ${which}'`,
    message: `a ${what} is invalid: ${which}`,
  };
}

function checked(schema: typeof labelsSchema, rules: readonly object[]) {
  const said = (schema.meta()?.["x-kubernetes-validations"] ?? []) as readonly object[];
  return schema.meta({ "x-kubernetes-validations": [...said, ...rules], maxProperties: MAX_KEYS });
}

/**
 * Schema of the labels and annotations that a spec gives to an object for applications.
 * @param kind of the object @param which its name and its use, for the description
 */
export function givenMetadataSchema(kind: "Secret" | "ConfigMap", which: string) {
  const labels = [refusing(IS_INVALID_KEY, "key", A_KEY), refusing(IS_INVALID_VALUE, "value", A_VALUE)];
  const annotations = [refusing(IS_INVALID_KEY, "key", A_KEY)];
  return z
    .object({
      metadata: z
        .object({
          labels: checked(labelsSchema, labels).describe(`Labels of the ${kind}.`),
          annotations: checked(annotationsUpTo(MAX_ANNOTATION_LENGTH), annotations).describe(
            `Annotations of the ${kind}, such as those by which a tool copies it to other namespaces.`,
          ),
        })
        .optional(),
    })
    .describe(
      `Metadata of the ${kind} ${which}. Entries that are removed here are removed from the ${kind}; entries of other clients stay.`,
    );
}
