import { z } from "zod";
import { MAX_CLUSTER_NAME_LENGTH } from "#api/names.ts";

// Schemas that EtcdRole and EtcdUser have in common.

/** Longest common name of a certificate (RFC 5280), which is how etcd identifies a user. */
const MAX_ETCD_NAME_LENGTH = 64;
const ETCD_NAME = "it must be letters, digits and . _ @ -, and begin and end with a letter or digit";

/** Schema of a name in etcd. @param reserved names that users may not take, each with the reason */
export function etcdNameSchema(reserved: Readonly<Record<string, string>>) {
  return z
    .string()
    .min(1)
    .max(MAX_ETCD_NAME_LENGTH)
    .meta({
      "x-kubernetes-validations": [
        {
          rule: "self.matches('^[A-Za-z0-9]([A-Za-z0-9._@-]*[A-Za-z0-9])?$')",
          messageExpression: `'it is ' + self + '; ${ETCD_NAME}'`,
          message: ETCD_NAME,
        },
        ...Object.entries(reserved).map(([name, why]) => ({
          rule: `self != '${name}'`,
          message: `it is ${name}; it must be another name: ${why}`,
        })),
      ],
    });
}

export const clusterRefSchema = z
  .object({
    name: z
      .string()
      .min(1)
      .max(MAX_CLUSTER_NAME_LENGTH)
      .meta({
        "x-kubernetes-validations": [
          {
            rule: "self == oldSelf",
            messageExpression:
              "'it is ' + self + ', and was ' + oldSelf + '; it must stay so: make another object for another cluster'",
            message: "it cannot be changed; make another object for another cluster",
          },
        ],
      })
      .describe("Its name. It cannot be changed."),
  })
  .describe("The EtcdCluster, in the same namespace.");

/** @param what role or user, for the description */
export function takeOverSchema(what: string) {
  return z
    .boolean()
    .default(false)
    .describe(
      `Takes over a ${what} of this name that exists in etcd already. From then on it has what this object states, and is deleted with this object. Without it such a ${what} is left alone, and the condition Ready reports it.`,
    );
}

/** Rules that the name in etcd is immutable. @param field optional field with the name in etcd */
export function staysNamed(field: string) {
  return [
    {
      rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
      message: `${field} cannot be changed; make another object for another name`,
    },
  ];
}
