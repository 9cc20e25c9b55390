import { z } from "zod";
import { conditionsSchema, listed } from "#api/common-schema.ts";
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
      .describe("etcd's cluster ID in hexadecimal. An etcd that answers with another one is never believed."),
    token: z.string().describe("etcd's initial cluster token; never used for a second cluster."),
    initialMembers: z
      .array(initialMemberSchema)
      .describe("The frozen list of members that the cluster was or is formed from."),
    peerScheme: z
      .enum(["http", "https"])
      .optional()
      .describe("How members reach each other, since the cluster was formed; without it http."),
  })
  .describe(
    "Who this cluster is. Written before anything else is created, so that an outage never looks like a new cluster.",
  );

export const memberStatusSchema = z.object({
  name: z.string(),
  id: z.string().describe("etcd's member ID in hexadecimal, as etcdctl prints it."),
  healthy: z.boolean(),
  leader: z.boolean(),
  learner: z.boolean(),
  version: z.string().optional().describe("The release that the member runs, or ran when it was last asked."),
  upToDate: z
    .boolean()
    .optional()
    .describe("Whether the member's pod was made from what the spec asks for; not said of one that a person added."),
  since: z
    .string()
    .optional()
    .meta({ format: "date-time" })
    .describe(
      "Since when looks have found the member unhealthy. How long it is waited for counts anew after a restart of the operator.",
    ),
  message: z.string().optional().describe("Why the member is not healthy."),
});

export const updateSchema = z
  .object({
    revision: z
      .string()
      .describe("Names the version and podTemplate that are wanted; equal for all that mean the same."),
    from: z.string().describe("The release that most members ran when the update began."),
    to: z.string().describe("The release that is wanted."),
    updated: z.array(z.string()).describe("The members that run what is wanted."),
    proven: z.boolean().describe("Some member has been well with what is wanted."),
    waitingFor: z.string().optional().describe("The member that the next restart waits for."),
    waitingForDeletion: z
      .array(z.string())
      .optional()
      .describe(
        "The members that get what is wanted when somebody deletes their pods, because spec.updateStrategy.type is OnDelete.",
      ),
    since: z.string().meta({ format: "date-time" }).describe("When the update was first seen to be wanted."),
    stopped: z
      .object({
        member: z.string().describe("The first member that was restarted, and did not become healthy."),
        message: z.string().describe("What was seen of it last."),
      })
      .optional()
      .describe("The update was stopped, and the member put back. It is tried anew once something else is wanted."),
  })
  .describe("Members are being restarted, one after another, with what the spec asks for; with OnDelete by people.");

const sleepSchema = z
  .object({
    since: z.string().meta({ format: "date-time" }).describe("When members were told to stop."),
    wokenAt: z
      .string()
      .optional()
      .meta({ format: "date-time" })
      .describe("When they were told to start again; until the last one is back, or its time is up."),
  })
  .describe("The cluster sleeps, because spec.replicas is 0, or is waking up.");

const certificateSchema = z.object({
  name: z.string().describe("Name of the Secret that holds it."),
  notAfter: z.string().meta({ format: "date-time" }).describe("When it ends."),
  issuer: z.string().describe("The name of the authority that signed it."),
  trust: z
    .array(z.string())
    .optional()
    .describe("The authorities that the Secret says are to be trusted: the SHA-256 of each one's certificate."),
});

/** What of `spec.tls` says where a certificate comes from, and how it is made. */
const issuing = {
  provider: z.string().describe("Who issues: Operator, CertManager or Secret."),
  certManager: z
    .object({ issuerRef: z.object({ name: z.string(), kind: z.string(), group: z.string() }) })
    .optional()
    .describe("With CertManager: the issuer that signs."),
  duration: z.string().optional().describe("How long a certificate is good."),
  renewBefore: z.string().optional().describe("How long before its end a certificate is renewed."),
};

const issuedBySchema = z.object({
  peer: z
    .object({
      ...issuing,
      secret: z
        .object({ secretName: z.string() })
        .optional()
        .describe("With Secret: the Secret that somebody else fills."),
    })
    .optional()
    .describe("What members show to each other."),
  client: z
    .object({
      ...issuing,
      secret: z
        .object({ serverSecretName: z.string(), operatorClientSecretName: z.string() })
        .optional()
        .describe("With Secret: the Secrets that somebody else fills."),
      extraNames: z.array(z.string()).optional().describe("Further names that the certificate of members carries."),
    })
    .optional()
    .describe("What members show to clients, and the operator to members."),
});

const waiverSchema = z.object({
  check: z.string().describe(listed("The check that is waived.", WAIVABLE)),
  until: z.string().meta({ format: "date-time" }).describe("When it is asked again."),
});

export const unmanagedNamesSchema = z.object({
  count: z.int().describe("How many there are."),
  names: z
    .array(z.string())
    .describe(
      "The first ten of them, sorted; the first 64 characters of a long one, and what is no plain text written as \\u{…}.",
    ),
});

export const unmanagedSchema = z
  .object({
    users: unmanagedNamesSchema.optional().describe("But for root, and those by which the operator logs in."),
    roles: unmanagedNamesSchema.optional().describe("But for root."),
  })
  .describe(
    "Users and roles in etcd that no EtcdUser and no EtcdRole names: people have made them with etcdctl. They are left alone.",
  );

export const clusterStatusSchema = z
  .object({
    observedGeneration: z.number().int().optional(),
    replicas: z
      .number()
      .int()
      .optional()
      .describe("How many EtcdPeers there are; of a cluster that sleeps, how many pods."),
    readyReplicas: z.number().int().optional().describe("How many voting members are healthy."),
    ready: z.string().optional().describe("Healthy voters and wanted voters, such as 3/3."),
    selector: z.string().optional().describe("Selects the pods of members; used by the scale subresource."),
    clusterVersion: z.string().optional().describe("The version that the cluster as a whole speaks, such as 3.6.0."),
    version: z.string().optional().describe("The oldest release that a member runs, such as 3.6.16."),
    leader: z.string().optional().describe("Name of the member that leads."),
    identity: identitySchema.optional(),
    sleep: sleepSchema.optional(),
    update: updateSchema.optional(),
    plan: planSchema.optional(),
    waivers: z
      .array(waiverSchema)
      .optional()
      .describe("The checks that an update does not wait for now, by the annotation etcd.improbable.io/waive."),
    backup: z
      .object({
        lastSuccessful: madeBackupSchema.optional().describe("The latest one that was completed."),
        lastVerified: madeBackupSchema
          .optional()
          .describe("The latest one that was restored into a throw-away member and found whole."),
      })
      .optional()
      .describe("The backups of the EtcdBackupSchedules that name the cluster."),
    certificates: z
      .array(certificateSchema)
      .optional()
      .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] })
      .describe("The certificates of the cluster, as they were last read."),
    tls: z
      .object({
        client: z
          .object({
            scheme: z
              .enum(["http", "https"])
              .describe("By which every member serves clients; of two the one with TLS."),
            bothServedSince: z
              .string()
              .optional()
              .meta({ format: "date-time" })
              .describe("Since when every member serves clients with TLS and without it."),
          })
          .optional(),
      })
      .optional()
      .describe("How members are reached, where spec.tls says something of it."),
    auth: z
      .object({
        enabled: z.boolean().describe("Whether etcd asks for users, by its own last word."),
        operators: z
          .array(z.string())
          .optional()
          .describe(
            "Users in etcd by which the operator logs in, or is about to, but for etcd-cluster-operator: by the common names of its certificates. They are its own; no EtcdUser gets them.",
          ),
        unmanaged: unmanagedSchema.optional(),
      })
      .optional()
      .describe("etcd's users and roles; not there while nobody knows, or has asked for them."),
    issuedBy: issuedBySchema
      .optional()
      .describe(
        "Where what is shown comes from. Where spec.tls says something else, members and the operator are on their way there.",
      ),
    members: z
      .array(memberStatusSchema)
      .optional()
      .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] })
      .describe(
        "The members as they were last asked: whenever an object of the cluster changes, the readiness of a pod for one. While all is well and nothing changes they are asked every 10 s, in a large fleet one of them once in a minute and all at least every five minutes; what only etcd knows, such as the leader and alarms, is a minute old then.",
      ),
    conditions: conditionsSchema(CONDITION_TYPES, REASONS).optional(),
  })
  .describe("What the operator saw and decided last.");

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
