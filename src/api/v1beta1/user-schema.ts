import { z } from "zod";
import { ATOMIC, conditionsSchema, durationSchema, listed, SET } from "#api/common-schema.ts";
import { USER_CONDITION_TYPES, USER_REASONS } from "#api/conditions.ts";
import { OPERATOR } from "#api/names.ts";
import { clusterRefSchema, etcdNameSchema, staysNamed, takeOverSchema } from "#api/v1beta1/access-schema.ts";
import { givenMetadataSchema } from "#api/v1beta1/given-metadata-schema.ts";
import { ROLE_NAMES_RESERVED } from "#api/v1beta1/role-schema.ts";

const MAX_ROLES = 32;
const MAX_PREFIX_LENGTH = 1_024;

const time = z.string().meta({ format: "date-time" });

export const USER_NAMES_RESERVED = {
  root: "etcd's user root is the administrator's",
  [OPERATOR]: "it is the operator's own",
};

/** `spec` of an EtcdUser. */
export const userSpecSchema = z
  .object({
    clusterRef: clusterRefSchema,
    userName: etcdNameSchema(USER_NAMES_RESERVED)
      .optional()
      .describe("The user's name in etcd. Without it metadata.name. It cannot be changed."),
    roles: z
      .array(etcdNameSchema(ROLE_NAMES_RESERVED))
      .max(MAX_ROLES)
      .meta(SET)
      .default([])
      .describe("The user has exactly these roles, named as in etcd: those of EtcdRoles and those created by hand."),
    authentication: z
      .object({
        type: z.enum(["Password", "Certificate"]).describe(
          listed("How the user logs in. It cannot be changed.", {
            Password: "by a password that the operator makes.",
            Certificate:
              "by a certificate with its name as the common name, which the cluster's CA or issuer signs; not with tls.client.provider Secret.",
          }),
        ),
      })
      .default({ type: "Password" })
      .describe("Credentials of the user. Without it a password."),
    rotation: z
      .object({
        every: durationSchema("10m", "17520h").describe("Maximum age of credentials, such as 720h."),
      })
      .optional()
      .describe(
        "Makes new credentials at this age. With Password, etcd refuses the previous password as soon as it has the new one. A certificate stays valid until it expires.",
      ),
    keyPrefix: z
      .string()
      .min(1)
      .max(MAX_PREFIX_LENGTH)
      .optional()
      .describe("Value of key-prefix in the binding Secret, for the application. It grants nothing: only roles do."),
    bindingSecret: givenMetadataSchema("Secret", "NAME-binding, which an application mounts").optional(),
    takeOver: takeOverSchema("user"),
  })
  .meta({
    "x-kubernetes-validations": [
      ...staysNamed("userName"),
      {
        rule: "self.authentication.type == oldSelf.authentication.type",
        messageExpression:
          "'authentication.type is ' + self.authentication.type + ', and was ' + oldSelf.authentication.type + '; it must stay so: make another EtcdUser'",
        message: "authentication.type cannot be changed; make another EtcdUser",
      },
    ],
  })
  .describe("A user in etcd, and the Secret by which an application connects as that user.");

/** `status` of an EtcdUser. */
export const userStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    userName: z
      .string()
      .optional()
      .describe("The user in etcd that this object has made. It belongs to this object, and is deleted with it."),
    clusterID: z
      .string()
      .optional()
      .describe("etcd's cluster ID in hexadecimal, where the user is. A user in any other etcd is not this object's."),
    binding: z
      .object({
        name: z.string().describe("Name of the Secret, which has the form that servicebinding.io describes."),
        trusts: z
          .array(z.string())
          .meta(ATOMIC)
          .optional()
          .describe("SHA-256 of each CA in its ca.crt, in hexadecimal. None without TLS."),
        signedBy: z
          .string()
          .optional()
          .describe("The CA that has signed its certificate. The rotation of a CA waits until bindings have followed."),
      })
      .optional()
      .describe("The Secret by which an application connects."),
    lastRotationTime: time.optional().describe("When the current credentials were made."),
    certificate: z
      .object({ notAfter: time.describe("When it expires.") })
      .optional()
      .describe("The certificate in the binding Secret."),
    passwordFrom: z
      .object({ uid: z.string(), resourceVersion: z.string() })
      .optional()
      .describe("The binding Secret, as it was when etcd was given its password."),
    conditions: conditionsSchema(USER_CONDITION_TYPES, USER_REASONS).optional(),
  })
  .describe("What the operator last saw and decided.");
