import { z } from "zod";

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

/** What an EtcdPeer says of its member's place in the cluster: the same in every version of the API. */
export const placeInCluster = {
  clusterName: z
    .string()
    .max(52)
    .describe("Name of the EtcdCluster that the member belongs to, in the same namespace."),
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
