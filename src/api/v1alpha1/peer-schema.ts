import { z } from "zod";
import { PEER_CONDITION_TYPES, PEER_REASONS } from "#api/conditions.ts";
import {
  conditionsSchema,
  DEFAULT_CLAIM,
  DEFAULT_VERSION,
  podTemplateSchema,
  storageSchema,
  versionSchema,
} from "#api/v1alpha1/shared-schema.ts";

const initialClusterMemberSchema = z.object({
  name: z.string().optional().describe("etcd's member name; without it the first label of the host."),
  host: z.string().describe("DNS name of the member, without port."),
  peerURLs: z
    .array(z.string())
    .optional()
    .describe(
      "Where the others reach a member that the operator has not made; without it at the usual port of its host.",
    ),
});

export const bootstrapSchema = z
  .object({
    initialClusterState: z
      .enum(["New", "Existing"])
      .describe(
        "New: the member forms a cluster with the others of the list. Existing: it joins one that has added it already.",
      ),
    clusterToken: z.string().optional().describe("etcd's initial cluster token; without it the cluster's name."),
    static: z.object({ initialCluster: z.array(initialClusterMemberSchema).min(1).max(32) }),
  })
  .describe(
    "How the member starts on an empty volume. Without it, it may start only with the data of an earlier start.",
  );

export const peerSpecSchema = z
  .object({
    clusterName: z
      .string()
      .max(52)
      .describe("Name of the EtcdCluster that the member belongs to, in the same namespace."),
    version: versionSchema.default(DEFAULT_VERSION),
    bootstrap: bootstrapSchema.optional(),
    clusterID: z
      .string()
      .optional()
      .describe("etcd's cluster ID in hexadecimal: whose data the member's claim may hold."),
    clusterToken: z.string().optional().describe("etcd's initial cluster token, for the record on the member's claim."),
    memberID: z
      .string()
      .optional()
      .describe(
        "etcd's member ID in hexadecimal. Without it and with bootstrap Existing, the member is only intended: nothing is started.",
      ),
    storage: storageSchema.default({ volumeClaimTemplate: DEFAULT_CLAIM }),
    podTemplate: podTemplateSchema.default({}),
    previous: z
      .object({ version: versionSchema, podTemplate: podTemplateSchema.default({}) })
      .optional()
      .describe(
        "What the member ran before it got the present version and podTemplate: it is put back to it when it does not come up.",
      ),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "self.clusterName == oldSelf.clusterName",
        messageExpression: "'clusterName is ' + self.clusterName + '; it must stay ' + oldSelf.clusterName",
        message: "clusterName cannot be changed",
      },
      {
        rule: "!has(self.bootstrap) || has(oldSelf.bootstrap)",
        message:
          "bootstrap cannot be given back to a member that has joined: on an empty volume it would forget what it acknowledged",
      },
    ],
  })
  .describe("One member of an etcd cluster. EtcdPeers are made by the operator; people need not write them.");

export const peerStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    serverVersion: z.string().optional().describe("The release that the member runs; empty while it cannot be asked."),
    memberID: z.string().optional().describe("The member ID with which the member answers."),
    clusterID: z.string().optional().describe("The cluster ID with which the member answers."),
    revision: z
      .string()
      .optional()
      .describe(
        "Which version and podTemplate the next pod of the member will have, as the ReplicaSet controller knows by now.",
      ),
    conditions: conditionsSchema(PEER_CONDITION_TYPES, PEER_REASONS).optional(),
  })
  .describe("What the operator saw and decided last.");
