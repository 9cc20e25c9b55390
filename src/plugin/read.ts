import { CLUSTER_LABEL, memberSelector, ordinalOf, selectorText } from "#api/names.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { FIELD_MANAGER, type KubeClient, type Selection } from "#kube/client.ts";
import { type AnyResource, PODS, type Ref } from "#kube/kinds.ts";
import { nameOf, textAt, type Values } from "./fields.ts";
import { ETCD_BACKUP_SCHEDULES, ETCD_CLUSTERS, ETCD_PEERS, ETCD_USERS, EVENTS } from "./kinds.ts";
import type { ClusterPicture, Many } from "./picture.ts";
import { clean } from "./text.ts";

/** Path in an EtcdBackupSchedule to the name of its EtcdCluster. */
const SOURCE = ["spec", "backupTemplate", "spec", "source", "cluster", "name"] as const;

/** Reads objects for screens. A missing right is a fact to show, not an error. */
export class Reader {
  readonly #client: KubeClient;
  readonly #signal: AbortSignal;

  constructor(client: KubeClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  async one(kind: AnyResource, ref: Ref): Promise<Observed<Values>> {
    try {
      return present((await this.#client.get(kind, ref, { signal: this.#signal })) as unknown as Values);
    } catch (thrown) {
      if (hasCode(thrown, "KubeNotFound")) return absent;
      return unknown(whyNot(thrown));
    }
  }

  async many(kind: AnyResource, selection: Selection): Promise<Many> {
    try {
      const { items } = await this.#client.list(kind, selection, { signal: this.#signal, keep: withoutManagers });
      return present(items as unknown as readonly Values[]);
    } catch (thrown) {
      if (hasCode(thrown, "KubeNotFound")) return absent; // The API server does not serve the kind.
      return unknown(whyNot(thrown));
    }
  }

  /** The cluster with everything that its screens show; absent when there is no such cluster. */
  async picture(
    ref: { namespace: string; name: string },
    nowMs: number,
    isWide: boolean,
  ): Promise<Observed<ClusterPicture>> {
    const { namespace, name } = ref;
    const inNamespace = { namespace };
    const selector = selectorText(memberSelector(name));
    const [cluster, peers, schedules, users, events, pods] = await Promise.all([
      this.one(ETCD_CLUSTERS, ref),
      this.many(ETCD_PEERS, { namespace, labelSelector: `${CLUSTER_LABEL}=${name}` }),
      this.many(ETCD_BACKUP_SCHEDULES, inNamespace),
      this.many(ETCD_USERS, inNamespace),
      this.many(EVENTS, inNamespace),
      isWide ? this.many(PODS, { namespace, labelSelector: selector }) : Promise.resolve(absent),
    ]);
    if (cluster.is !== "present") return cluster;
    return present({
      nowMs,
      cluster: cluster.value,
      peers,
      schedules: kept(schedules, (each) => textAt(each, ...SOURCE) === name),
      users: kept(users, (each) => textAt(each, "spec", "clusterRef", "name") === name),
      events: kept(events, (each) => isEventOf(cluster.value, each)),
      pods,
    });
  }
}

/**
 * Whether the operator reports the event about this cluster or a member. An earlier cluster of the name has another
 * uid; uids of members are not compared. The author of an event chooses these fields, so they are no proof.
 */
export function isEventOf(cluster: Values, event: Values): boolean {
  if (textAt(event, "reportingComponent") !== FIELD_MANAGER) return false;
  const [kind, about] = [textAt(event, "involvedObject", "kind"), textAt(event, "involvedObject", "name")];
  const name = nameOf(cluster);
  if (kind === "EtcdPeer") return ordinalOf(name, about) !== undefined;
  const isSame = textAt(event, "involvedObject", "uid") === textAt(cluster, "metadata", "uid");
  return kind === "EtcdCluster" && about === name && isSame;
}

function kept(many: Many, isWanted: (each: Values) => boolean): Many {
  return many.is === "present" ? present(many.value.filter(isWanted)) : many;
}

function withoutManagers<T extends { readonly metadata: object }>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as Record<string, unknown>;
  return { ...object, metadata };
}

/** Why a read failed, on one line. @throws anything that is no answer of the API server and no broken connection */
export function whyNot(thrown: unknown): string {
  if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled", "Bug", "InvalidConfig")) throw thrown;
  return clean(thrown.message);
}
