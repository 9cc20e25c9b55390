import { expect } from "vitest";
import type { OperatorError } from "#base/error.ts";
import { noIdentities } from "#certificates/dial.ts";
import type { ClusterReads } from "#cluster/observe/observe.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { CallOptions } from "#etcd/client.ts";
import { clusterIdFromHex, type EndpointStatus, type MemberList } from "#etcd/types.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeObject } from "#kube/kinds.ts";
import { endpointStatus } from "./cluster.ts";
import { IDENTITY, IDS, LIST, NAMES, WHOLE } from "./cluster-rested.ts";

/** Number of other clusters with which four of five passes end after the quick check. */
export const LARGE = 1_000;
type ListOptions = CallOptions & { readonly linearizable: boolean };
const OF_THIS_CLUSTER = { expectedClusterId: clusterIdFromHex(IDENTITY.clusterID), deadlineMs: 1_000 };

/** The state behind the reads: caches, answers of members, Secrets. */
export interface There {
  snapshot: ClusterSnapshot;
  users: readonly KubeObject[];
  others: number;
  fleet: number;
  leader: string;
  status: Partial<EndpointStatus>;
  list: MemberList;
  news: number;
  fails: OperatorError | undefined;
}

/** The reads of a quick check of the only cluster, and the members that it has called. */
export function quickCheckReads(given: Partial<There> = {}) {
  const there: There = {
    snapshot: WHOLE,
    users: [],
    others: LARGE,
    fleet: 0,
    leader: IDS[0]!,
    status: {},
    list: LIST,
    news: 0,
    fails: undefined,
    ...given,
  };
  const clock = new FakeClock();
  const asked: string[] = [];
  const one = (object: () => KubeObject | undefined) => ({
    get: ({ name }: { name: string }) => (object()?.metadata.name === name ? object() : undefined),
  });
  const several = (objects: () => Iterable<KubeObject>) => ({ byIndex: () => [...objects()] });
  const member = (address: string) => Number(address.slice("10.0.0.".length, -":2379".length));
  const reads = {
    clusters: one(() => there.snapshot.cluster),
    services: {
      get: ({ name }: { name: string }) =>
        [there.snapshot.headlessService, there.snapshot.clientService].find((each) => each?.metadata.name === name),
    },
    budgets: { ...one(() => there.snapshot.budget), ...several(() => there.snapshot.otherBudgets) },
    networkPolicies: one(() => there.snapshot.networkPolicy),
    restores: one(() => there.snapshot.restore),
    schedules: several(() => there.snapshot.schedules),
    backups: several(() => there.snapshot.sourceBackups),
    peers: several(() => there.snapshot.peers),
    claims: several(() => there.snapshot.claims),
    pods: several(() => there.snapshot.pods.values()),
    users: several(() => there.users),
    etcd: {
      status: ({ address }: { address: string }, { expectedClusterId, deadlineMs }: CallOptions) => {
        expect({ expectedClusterId, deadlineMs }).toEqual(OF_THIS_CLUSTER);
        if (there.fails !== undefined) return Promise.reject(there.fails);
        asked.push(NAMES[member(address)]!);
        const status = endpointStatus(IDENTITY.clusterID, IDS[member(address)]!, there.leader);
        return Promise.resolve({ ...status, ...there.status });
      },
      memberList: (_: unknown, { expectedClusterId, deadlineMs, linearizable }: ListOptions) => {
        expect({ expectedClusterId, deadlineMs, linearizable }).toEqual({ ...OF_THIS_CLUSTER, linearizable: true });
        return Promise.resolve(there.list);
      },
    },
    identities: noIdentities,
    clock,
    fleetSize: () => there.fleet,
    get othersAtRest() {
      return there.others;
    },
  } as unknown as ClusterReads;
  return { there, reads, asked, clock };
}
