import { z } from "zod";
import { ATOMIC, conditionsSchema, listed, mapBy } from "#api/common-schema.ts";
import { CONDITION_TYPES, PEER_CONDITION_TYPES, PEER_REASONS, REASONS } from "#api/conditions.ts";
import { planSchema } from "#api/v1beta1/plan-schema.ts";
import { madeBackupSchema } from "#api/v1beta1/schedule-status-schema.ts";
import { WAIVABLE } from "#api/waivers.ts";

const initialMemberSchema = z.object({
  name: z.string(),
  id: z.string().describe("etcd's member ID in hexadecimal, computed before the member exists."),
  joined: z
    .boolean()
    .describe(
      "The member has answered as part of this cluster. From then on it may restart but never bootstrap again.",
    ),
});

export const identitySchema = z
  .object({
    clusterID: z
      .string()
      .describe(
        "etcd's cluster ID in hexadecimal. The operator never trusts an etcd that answers with a different ID.",
      ),
    token: z.string().describe("etcd's initial cluster token; never used for a second cluster."),
    initialMembers: z
      .array(initialMemberSchema)
      .meta(ATOMIC)
      .describe("The fixed list of members from which the cluster was or is formed."),
    peerScheme: z
      .enum(["http", "https"])
      .optional()
      .describe("Scheme with which the cluster was formed and members reach each other; without it http."),
    adopting: z
      .boolean()
      .optional()
      .describe(
        "The identity was taken from claims, and the members have had no quorum since. Claims of the same cluster that appear later are added to initialMembers.",
      ),
  })
  .describe(
    "Identity of this cluster. It is written before anything else is created, so that an outage never looks like a new cluster.",
  );

export const memberStatusSchema = z.object({
  name: z.string(),
  id: z.string().describe("etcd's member ID in hexadecimal, as etcdctl prints it."),
  role: z
    .enum(["Leader", "Voter", "Learner"])
    .describe("Leader: it answers that it leads. Voter: any other member with a vote. Learner: it has no vote yet."),
  health: z
    .enum(["Healthy", "Unhealthy", "Unknown"])
    .describe("Unknown: a person has added the member, and the operator does not ask it."),
  version: z.string().optional().describe("The release that the member runs, or ran when it was last asked."),
  raftEntriesFrom: z
    .string()
    .optional()
    .describe(
      "The oldest minor release of the raft entries that the member reads at its next start. Its last snapshot includes all older entries. Members of etcd 3.7 cannot read entries of 3.5.",
    ),
  upToDate: z
    .boolean()
    .optional()
    .describe(
      "Whether the member's pod was made from what the spec asks for; not set for a member that a person added.",
    ),
  since: z
    .string()
    .optional()
    .meta({ format: "date-time" })
    .describe(
      "Since when the member is unhealthy. After a restart of the operator, the wait for the member starts again.",
    ),
  message: z.string().optional().describe("Why the member is not healthy."),
});

export const updateSchema = z
  .object({
    revision: z.string().describe("Hash of the desired version and podTemplate; equal for equal ones."),
    from: z.string().describe("The release that most members ran when the update began."),
    to: z.string().describe("The desired release."),
    updated: z.array(z.string()).meta(ATOMIC).describe("The members that run what the spec asks for."),
    proven: z.boolean().describe("Some member has been healthy with what the spec asks for."),
    waitingFor: z.string().optional().describe("The member that the next restart waits for."),
    waitingForDeletion: z
      .array(z.string())
      .meta(ATOMIC)
      .optional()
      .describe(
        "The members that are updated only when their pods are deleted, because spec.updateStrategy.type is OnDelete.",
      ),
    startTime: z
      .string()
      .meta({ format: "date-time" })
      .describe("When the operator first saw that an update is needed."),
    stopped: z
      .object({
        member: z.string().describe("The first member that was restarted, and did not become healthy."),
        message: z.string().describe("Last state of the member."),
      })
      .optional()
      .describe(
        "The update was stopped, and the member was rolled back. The next change of the spec starts a new update.",
      ),
  })
  .describe("Members are being restarted, one after another, with what the spec asks for; with OnDelete by people.");

const sleepSchema = z
  .object({
    startTime: z.string().meta({ format: "date-time" }).describe("When the operator began to stop members."),
    wakeTime: z
      .string()
      .optional()
      .meta({ format: "date-time" })
      .describe(
        "When the operator began to start them again. It is set until the last one is back, or its time is up.",
      ),
  })
  .describe("The cluster sleeps, because spec.replicas is 0, or is waking up.");

const certificateSchema = z.object({
  name: z.string().describe("Name of the Secret that holds it."),
  notAfter: z.string().meta({ format: "date-time" }).describe("When it expires."),
  issuer: z.string().describe("The name of the CA that signed it."),
  trust: z
    .array(z.string())
    .meta(ATOMIC)
    .optional()
    .describe("The trusted CAs in the Secret: SHA-256 of the certificate of each."),
});

/** Fields of `spec.tls` about the source and lifetime of certificates. */
const issuing = {
  provider: z.string().describe("Source of the certificates: Operator, CertManager or Secret."),
  certManager: z
    .object({ issuerRef: z.object({ name: z.string(), kind: z.string(), group: z.string() }) })
    .optional()
    .describe("With CertManager: the issuer that signs."),
  duration: z.string().optional().describe("How long a certificate is valid."),
  renewBefore: z.string().optional().describe("How long before its end a certificate is renewed."),
};

const SOURCE_TEXT =
  "Source of the certificates in use. While spec.tls asks for a different source, members and the operator are changing to it.";

const tlsChangeSchema = z
  .object({
    kind: z
      .enum(["CARotation", "Provider", "Scheme"])
      .describe("What changes: the CA, the source of the certificates, or whether TLS is used."),
    from: z
      .string()
      .optional()
      .describe(
        "What is replaced: the SHA-256 of a CA, a source of certificates or a scheme. Absent when it can no longer be observed.",
      ),
    to: z.string().describe("What replaces it, in the same form as `from`."),
    round: z
      .enum(["Prepare", "AcceptBoth", "UseNew", "DropOld"])
      .describe(
        "Prepare: the new CA, certificate or scheme cannot be used yet, and members keep what they have. AcceptBoth: members restart to accept both. UseNew: members and clients change to the new. DropOld: members restart to accept only the new.",
      ),
    startTime: z.string().meta({ format: "date-time" }).describe("When the round began."),
    waitsFor: z.string().optional().describe("What the round waits for."),
  })
  .describe("The change in progress, for people and tools: the operator derives the round from what it observes.");

const peerTlsSchema = z
  .object({
    scheme: z
      .enum(["http", "https"])
      .optional()
      .describe("https when every member listens for other members with TLS."),
    issuedBy: z
      .object({
        ...issuing,
        secret: z
          .object({ name: z.string() })
          .optional()
          .describe("With Secret: the Secret that is filled by something other than the operator."),
      })
      .optional()
      .describe(SOURCE_TEXT),
    change: tlsChangeSchema.optional(),
  })
  .describe("TLS between members.");

const clientTlsSchema = z
  .object({
    scheme: z
      .enum(["http", "https"])
      .optional()
      .describe("Scheme by which every member serves clients; https if members serve both."),
    issuedBy: z
      .object({
        ...issuing,
        secret: z
          .object({ server: z.object({ name: z.string() }), operator: z.object({ name: z.string() }) })
          .optional()
          .describe("With Secret: the Secrets that are filled by something other than the operator."),
        extraNames: z
          .array(z.string())
          .meta(ATOMIC)
          .optional()
          .describe("Further names in the certificate of members."),
      })
      .optional()
      .describe(SOURCE_TEXT),
    bothServedSince: z
      .string()
      .optional()
      .meta({ format: "date-time" })
      .describe("Since when every member serves clients with TLS and without it."),
    change: tlsChangeSchema.optional(),
  })
  .describe("TLS for clients, and for the operator as a client.");

const tlsStatusSchema = z
  .object({
    peer: peerTlsSchema.optional(),
    client: clientTlsSchema.optional(),
    certificates: z
      .array(certificateSchema)
      .optional()
      .meta(mapBy("name"))
      .describe("The certificates of the cluster, as they were last read."),
  })
  .describe("How members are reached, and their certificates. Absent before spec.tls is set.");

const waiverSchema = z.object({
  check: z.string().describe(listed("The check that is waived.", WAIVABLE)),
  until: z.string().meta({ format: "date-time" }).describe("When the check applies again."),
});

export const unmanagedNamesSchema = z.object({
  count: z.int().describe("How many there are."),
  names: z
    .array(z.string())
    .meta(ATOMIC)
    .describe(
      "The first ten of them, sorted. A long name is cut after 64 characters, and characters that are not plain text are written as \\u{…}.",
    ),
});

export const unmanagedSchema = z
  .object({
    users: unmanagedNamesSchema.optional().describe("Without root, and without those by which the operator logs in."),
    roles: unmanagedNamesSchema.optional().describe("Without root."),
  })
  .describe(
    "Users and roles in etcd that no EtcdUser and no EtcdRole names, such as those that people have made with etcdctl. They are left alone.",
  );

export const clusterStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    replicas: z.number().int().optional().describe("Number of EtcdPeers; while the cluster sleeps, number of pods."),
    readyReplicas: z.number().int().optional().describe("Number of healthy voting members."),
    readyMembers: z.string().optional().describe("Healthy voters and wanted voters, such as 3/3."),
    selector: z.string().optional().describe("Selects the pods of members; used by the scale subresource."),
    clusterVersion: z.string().optional().describe("etcd's cluster version, such as 3.6.0."),
    version: z.string().optional().describe("The oldest release that a member runs, such as 3.6.16."),
    leader: z.string().optional().describe("Name of the leader."),
    identity: identitySchema.optional(),
    sleep: sleepSchema.optional(),
    update: updateSchema.optional(),
    dryRun: planSchema.optional(),
    waivers: z
      .array(waiverSchema)
      .meta(mapBy("check"))
      .optional()
      .describe("The checks that an update does not wait for now, by the annotation etcd.improbable.io/waive."),
    backup: z
      .object({
        lastSuccessful: madeBackupSchema.optional().describe("The latest backup that was completed."),
        lastVerified: madeBackupSchema
          .optional()
          .describe("The latest backup that was restored into a throw-away member and found whole."),
      })
      .optional()
      .describe("The backups of the EtcdBackupSchedules that name the cluster."),
    quarantinedClaims: z
      .object({
        count: z.number().int().describe("How many there are."),
        oldestTime: z
          .string()
          .optional()
          .meta({ format: "date-time" })
          .describe("When the first of them was quarantined."),
      })
      .optional()
      .describe(
        "Claims of members that have left, with the label etcd.improbable.io/quarantined. They are kept until a person deletes them.",
      ),
    tls: tlsStatusSchema.optional(),
    auth: z
      .object({
        enabled: z.boolean().describe("Whether authentication is enabled, as etcd last reported it."),
        operators: z
          .array(z.string())
          .meta(ATOMIC)
          .optional()
          .describe(
            "Users in etcd, other than etcd-cluster-operator, by which the operator logs in or is about to: the common names of its certificates. They belong to the operator; no EtcdUser gets them.",
          ),
        unmanaged: unmanagedSchema.optional(),
      })
      .optional()
      .describe("etcd's users and roles; absent while they are unknown or not asked for."),
    members: z
      .array(memberStatusSchema)
      .optional()
      .meta(mapBy("name"))
      .describe(
        "The members at their last check. The operator checks them when an object of the cluster changes, such as the readiness of a pod. While all is well and nothing changes, it checks them every 10 s. In a large fleet it checks one of them every minute and all at least every five minutes. What only etcd knows, such as the leader and alarms, is then a minute old.",
      ),
    conditions: conditionsSchema(CONDITION_TYPES, REASONS).optional(),
  })
  .describe("What the operator last saw and decided.");

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
        "Hash of the version and podTemplate of the member's next pod, as the ReplicaSet controller has seen them.",
      ),
    conditions: conditionsSchema(PEER_CONDITION_TYPES, PEER_REASONS).optional(),
  })
  .describe("What the operator last saw and decided.");
