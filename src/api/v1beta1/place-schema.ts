import { z } from "zod";
import { ATOMIC } from "#api/common-schema.ts";

/** Maximum length of a DNS name. */
const MAX_NAME_LENGTH = 253;
/** Maximum length of a URL. A member that the operator did not add may have several URLs, with any path. */
const MAX_URL_LENGTH = 2_048;
const MAX_URLS = 32;
/** Maximum length of a token: namespace, name and uid of the cluster. An adopted cluster may have any token. */
const MAX_TOKEN_LENGTH = 512;
/** Hexadecimal digits of 64 bits. */
const MAX_ID_LENGTH = 16;

const initialClusterMemberSchema = z.object({
  name: z
    .string()
    .max(MAX_NAME_LENGTH)
    .optional()
    .describe("etcd's member name; without it the first label of the host."),
  host: z.string().max(MAX_NAME_LENGTH).describe("DNS name of the member, without port."),
  peerURLs: z
    .array(z.string().max(MAX_URL_LENGTH))
    .meta(ATOMIC)
    .max(MAX_URLS)
    .optional()
    .describe("Peer URLs of a member that the operator has not made; without them the usual port of its host."),
});

export const bootstrapSchema = z
  .object({
    initialClusterState: z
      .enum(["New", "Existing"])
      .describe(
        "New: the member forms a cluster with the others of the list. Existing: it joins a cluster that has added it already.",
      ),
    clusterToken: z
      .string()
      .max(MAX_TOKEN_LENGTH)
      .optional()
      .describe("etcd's initial cluster token; without it the cluster's name."),
    static: z.object({ initialCluster: z.array(initialClusterMemberSchema).min(1).max(32).meta(ATOMIC) }),
  })
  .describe(
    "How the member starts on an empty volume. Without it, it may start only with the data of an earlier start.",
  );

/** Fields of an EtcdPeer about its member's place in the cluster, identical in every version of the API. */
export const placeInCluster = {
  clusterName: z
    .string()
    .max(52)
    .describe("Name of the EtcdCluster that the member belongs to, in the same namespace."),
  bootstrap: bootstrapSchema.optional(),
  clusterID: z
    .string()
    .max(MAX_ID_LENGTH)
    .optional()
    .describe("etcd's cluster ID in hexadecimal. The member's claim may hold only data of this cluster."),
  clusterToken: z
    .string()
    .max(MAX_TOKEN_LENGTH)
    .optional()
    .describe("etcd's initial cluster token, for the record on the member's claim."),
  memberID: z
    .string()
    .max(MAX_ID_LENGTH)
    .optional()
    .describe(
      "etcd's member ID in hexadecimal. Without it and with bootstrap Existing, the member is only intended: no pod is started.",
    ),
};

export const PEER_RULES = {
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
};

export const PEER_DESCRIPTION =
  "One member of an etcd cluster. EtcdPeers are made by the operator; people need not write them.";
