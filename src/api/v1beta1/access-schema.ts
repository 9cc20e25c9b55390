import { z } from "zod";
import { MAX_CLUSTER_NAME_LENGTH } from "#api/names.ts";

// What kinds for etcd's users and roles have in common.

/** The longest common name of a certificate (RFC 5280); users are known by it. */
const MAX_ETCD_NAME_LENGTH = 64;
const ETCD_NAME = "it must be letters, digits and . _ @ -, and begin and end with a letter or digit";

/** A name in etcd. @param reserved names that are not for people, and why */
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

export const clusterNameSchema = z
  .string()
  .min(1)
  .max(MAX_CLUSTER_NAME_LENGTH)
  .describe("The EtcdCluster, in the same namespace. It cannot be changed.");

/** @param what it is, for people */
export function takeOverSchema(what: string) {
  return z
    .boolean()
    .default(false)
    .describe(
      `Takes over a ${what} of this name that is in etcd already, and that somebody else has made: from then on it is what this object says, and it goes with it. Without it such a ${what} is left alone, and Ready says so.`,
    );
}

/** A field that says what in etcd the object is about. @param field it need not be given */
export function staysNamed(field: string) {
  return [
    {
      rule: "self.clusterName == oldSelf.clusterName",
      messageExpression: `'clusterName is ' + self.clusterName + ', and was ' + oldSelf.clusterName + '; it must stay so: make another object for another cluster'`,
      message: "clusterName cannot be changed; make another object for another cluster",
    },
    {
      rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
      message: `${field} cannot be changed; make another object for another name`,
    },
  ];
}
