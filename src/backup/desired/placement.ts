import type { JobPodTemplate } from "#agent-job/pod-template.ts";
import { isEmpty } from "#api/meaning.ts";
import { DESTINATION_CLAIM_LABEL } from "#api/names.ts";
import { memberSpec } from "#backup/desired/member.ts";
import type { BackupSnapshot } from "#backup/snapshot.ts";
import { fingerprint } from "#base/hash.ts";
import { defined } from "#base/json.ts";
import type { Pod } from "#kube/kinds.ts";

// On which nodes do the pods of a backup run, and as which user?
//   They follow the members of the EtcdCluster, since a namespace may have only tainted nodes, or a range of user IDs.
//   The backup's own podTemplate takes precedence. Affinity to other pods is not copied, since it is for members.

type PodSpec = NonNullable<Pod["spec"]>;

/** Fields that choose nodes. If the backup's podTemplate has one of them, none is copied from the members. */
const NODE_FIELDS = ["nodeSelector", "tolerations", "affinity"] as const;

/** Fields of the pod's spec that set nodes, users and pull Secrets, and the labels that the affinity selects. */
export function placement(snapshot: BackupSnapshot): { labels: Record<string, string>; spec: Partial<PodSpec> } {
  const { backup, cluster } = snapshot;
  const { podTemplate } = backup.spec;
  const member = memberSpec(cluster);
  const claim = exclusiveClaim(snapshot);
  const nodes = nodesOf(member, podTemplate);
  const imagePullSecrets = byName([
    ...(cluster?.spec.image?.pullSecrets ?? []),
    ...(member.imagePullSecrets ?? []),
    ...(podTemplate?.spec?.imagePullSecrets ?? []),
  ]);
  return {
    labels: claim === undefined ? {} : { [DESTINATION_CLAIM_LABEL]: claim },
    spec: {
      ...nodes,
      ...(claim === undefined ? {} : { affinity: besideClaim(nodes.affinity, claim) }),
      ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets }),
      securityContext: {
        runAsNonRoot: true,
        ...usersOf(member, podTemplate),
        seccompProfile: { type: "RuntimeDefault" },
      },
    },
  };
}

function nodesOf(member: PodSpec, template: JobPodTemplate): Partial<PodSpec> {
  const asked = template?.spec ?? {};
  const own = Object.fromEntries(
    NODE_FIELDS.flatMap((field) => (isEmpty(asked[field] ?? {}) ? [] : [[field, asked[field]]])),
  );
  if (!isEmpty(own)) return own;
  const { nodeSelector, tolerations, affinity } = member;
  const nodeAffinity = affinity?.nodeAffinity;
  return defined({ nodeSelector, tolerations, affinity: nodeAffinity && { nodeAffinity } });
}

/**
 * User and group IDs of the member's etcd, or the defaults if etcd runs as root, which the agent never does. With null
 * in the backup's podTemplate the platform chooses the ID.
 */
function usersOf(member: PodSpec, template: JobPodTemplate): object {
  const { runAsUser, runAsGroup, fsGroup, fsGroupChangePolicy, supplementalGroups } = member.securityContext ?? {};
  const etcd = member.containers[0]?.securityContext;
  const users = {
    runAsUser: etcd?.runAsUser ?? runAsUser,
    runAsGroup: etcd?.runAsGroup ?? runAsGroup,
    ...{ fsGroup, fsGroupChangePolicy, supplementalGroups },
  };
  const allowed = users.runAsUser === 0 ? memberSpec(undefined).securityContext : users;
  const own = Object.entries(template?.spec?.securityContext ?? {}).map(([field, value]) => [
    field,
    value ?? undefined,
  ]);
  return defined({ ...allowed, ...Object.fromEntries(own) });
}

/** Value of a label for a claim that only one node can mount at a time. */
function exclusiveClaim({ backup, claim }: BackupSnapshot): string | undefined {
  const { volume } = backup.spec.destination;
  const modes = claim?.spec?.accessModes ?? [];
  if (volume === undefined || !modes.includes("ReadWriteOnce") || modes.includes("ReadWriteMany")) return undefined;
  return fingerprint(volume.claimName);
}

/** Requires the node of the other pods with this claim: an archive's pod has the claim mounted all the time. */
function besideClaim(affinity: PodSpec["affinity"], claim: string): NonNullable<PodSpec["affinity"]> {
  const { requiredDuringSchedulingIgnoredDuringExecution: terms, ...preferred } = affinity?.podAffinity ?? {};
  const labelSelector = { matchLabels: { [DESTINATION_CLAIM_LABEL]: claim } };
  return {
    ...affinity,
    podAffinity: {
      ...preferred,
      requiredDuringSchedulingIgnoredDuringExecution: [
        ...(Array.isArray(terms) ? terms : []),
        { labelSelector, topologyKey: "kubernetes.io/hostname" },
      ],
    },
  };
}

function byName<T extends { readonly name?: string }>(secrets: readonly T[]): T[] {
  return [...new Map(secrets.map((each) => [each.name, each])).values()];
}
