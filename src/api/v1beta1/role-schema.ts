import { z } from "zod";
import { ATOMIC, conditionsSchema, listed } from "#api/common-schema.ts";
import { ROLE_CONDITION_TYPES, ROLE_REASONS } from "#api/conditions.ts";
import { clusterRefSchema, etcdNameSchema, staysNamed, takeOverSchema } from "#api/v1beta1/access-schema.ts";

/**
 * Maximum length of a key, more than keys usually have. The API server needs a bound to estimate the cost of CEL rules.
 */
const MAX_KEY_LENGTH = 1_024;
const MAX_PERMISSIONS = 64;

const WHICH = "exactly one of key, prefix and range must be given";
const GIVEN = ["key", "prefix", "range"].map((field) => `(has(self.${field}) ? 1 : 0)`).join(" + ");

const rangeSchema = z
  .object({
    from: z.string().max(MAX_KEY_LENGTH).describe("The first key. Empty: from the first key in etcd."),
    to: z
      .string()
      .min(1)
      .max(MAX_KEY_LENGTH)
      .optional()
      .describe("The first key after the range. Without it the range has all keys from the first one on."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "!has(self.to) || self.from < self.to",
        message: "range.to must come after range.from, in the order of their bytes",
      },
      {
        rule: "!has(self.to) || self.to != '\\u0000'",
        message:
          "range.to is the character NUL alone, with which etcd means all keys; leave it out to mean all keys from range.from on",
      },
    ],
  })
  .describe("Keys from one to another, in the order of their bytes.");

const permissionSchema = z
  .object({
    access: z.enum(["Read", "Write", "ReadWrite"]).describe(
      listed("What may be done with the keys.", {
        Read: "get them, and watch them.",
        Write: "put and delete them.",
        ReadWrite: "both.",
      }),
    ),
    key: z.string().min(1).max(MAX_KEY_LENGTH).optional().describe("One key, in UTF-8."),
    prefix: z
      .string()
      .min(1)
      .max(MAX_KEY_LENGTH)
      .optional()
      .describe(
        "All keys that begin with this. End it with a separator, such as orders/: orders alone means orders-archive, too.",
      ),
    range: rangeSchema.optional(),
  })
  .meta({
    "x-kubernetes-validations": [
      { rule: `${GIVEN} > 0`, message: `there is none of them; ${WHICH}` },
      { rule: `${GIVEN} <= 1`, message: `there are several of them; ${WHICH}` },
    ],
  });

export const ROLE_NAMES_RESERVED = { root: "etcd's role root may do everything, and is the administrator's" };

/** `spec` of an EtcdRole. */
export const roleSpecSchema = z
  .object({
    clusterRef: clusterRefSchema,
    roleName: etcdNameSchema(ROLE_NAMES_RESERVED)
      .optional()
      .describe("The role's name in etcd. Without it metadata.name. It cannot be changed."),
    permissions: z
      .array(permissionSchema)
      .max(MAX_PERMISSIONS)
      .meta(ATOMIC)
      .default([])
      .describe("Exactly what users with this role may do. Without any, the role permits nothing."),
    takeOver: takeOverSchema("role"),
  })
  .meta({ "x-kubernetes-validations": staysNamed("roleName") })
  .describe("A role in etcd: which keys may be read and written by users that have it.");

/** `status` of an EtcdRole. */
export const roleStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    roleName: z
      .string()
      .optional()
      .describe("The role in etcd that this object has made. It belongs to this object, and is deleted with it."),
    clusterID: z
      .string()
      .optional()
      .describe("etcd's cluster ID in hexadecimal, where the role is. A role in any other etcd is not this object's."),
    conditions: conditionsSchema(ROLE_CONDITION_TYPES, ROLE_REASONS).optional(),
  })
  .describe("What the operator last saw and decided.");
