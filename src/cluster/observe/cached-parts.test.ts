import { expect, test } from "vitest";
import { dying, strange, touched, WHOLE, withLastPod } from "#kit/snapshots/cluster-rested.ts";
import { etcdBackup } from "#kit/snapshots/etcd-backup.ts";
import { etcdRestore } from "#kit/snapshots/etcd-restore.ts";
import { etcdBackupSchedule } from "#kit/snapshots/schedule.ts";
import type { KubeObject, Pod, PodDisruptionBudget } from "#kube/kinds.ts";
import { type CachedParts, cachedParts, versionsOf } from "./cached-parts.ts";

const first = <T extends KubeObject>(all: readonly T[]) => all.map((each, n) => (n === 0 ? touched(each) : each));
const peer = WHOLE.peers[0]!;

const CHANGES: readonly { name: string; to: Partial<CachedParts> }[] = [
  { name: "the cluster", to: { cluster: touched(WHOLE.cluster) } },
  { name: "the headless Service", to: { headlessService: touched(WHOLE.headlessService!) } },
  { name: "the client Service", to: { clientService: touched(WHOLE.clientService!) } },
  { name: "the removal of the client Service", to: { clientService: undefined } },
  { name: "the PodDisruptionBudget", to: { budget: touched(WHOLE.budget!) } },
  { name: "another PodDisruptionBudget for the members", to: { otherBudgets: [WHOLE.budget!] } },
  { name: "a new NetworkPolicy", to: { networkPolicy: touched(WHOLE.budget!) as never } },
  { name: "a new EtcdRestore", to: { restore: etcdRestore() } },
  { name: "a new EtcdBackupSchedule", to: { schedules: [etcdBackupSchedule()] } },
  { name: "a new EtcdBackup", to: { sourceBackups: [etcdBackup()] } },
  { name: "an EtcdPeer", to: { peers: first(WHOLE.peers) } },
  { name: "the removal of an EtcdPeer", to: { peers: WHOLE.peers.slice(1) } },
  { name: "a new EtcdPeer of another owner", to: { foreignPeers: [{ ...peer, metadata: strange(peer) }] } },
  { name: "a claim", to: { claims: first(WHOLE.claims) } },
  { name: "a pod", to: { pods: withLastPod(touched).pods } },
  { name: "the removal of a pod", to: { pods: new Map([...WHOLE.pods].slice(1)) } },
];

test.each(CHANGES)("versionsOf: the text changes with $name", ({ to }) => {
  expect(versionsOf({ ...WHOLE, ...to })).not.toBe(versionsOf(WHOLE));
});

test("versionsOf: the text depends only on names and versions of objects", () => {
  expect(versionsOf({ ...WHOLE })).toBe(versionsOf(withLastPod(dying)));
});

test("cachedParts: other budgets are those that select a member's pod", () => {
  const selecting = (name: string, matchLabels: Readonly<Record<string, string>> | undefined) =>
    ({
      metadata: { namespace: "foo", name },
      spec: matchLabels && { selector: { matchLabels } },
    }) as PodDisruptionBudget;
  const all = [selecting("all", {}), selecting("theirs", { app: "other" }), selecting("none", undefined)];
  const of = (budgets: readonly PodDisruptionBudget[], pods: Iterable<Pod>) => {
    const some = (objects: Iterable<KubeObject>) => ({ get: () => undefined, byIndex: () => [...objects] });
    const others = ["services", "networkPolicies", "schedules", "backups", "peers", "restores", "claims"];
    const caches = {
      ...Object.fromEntries(others.map((kind) => [kind, some([])])),
      budgets: some(budgets),
      pods: some(pods),
    };
    return cachedParts(caches as never, WHOLE.cluster).otherBudgets.map(({ metadata }) => metadata.name);
  };
  expect(of(all, WHOLE.pods.values())).toEqual(["all"]);
  expect(of(all, [])).toEqual([]);
  const many = Array.from({ length: 200 }, (_, n) => selecting(`b${n}`, {}));
  expect(of(many, WHOLE.pods.values())).toHaveLength(100);
});

test("versionsOf: adjacent versions and different kinds of objects are distinguished", () => {
  const [one, other] = [touched(WHOLE.claims[0]!), touched(WHOLE.claims[1]!)];
  const versioned = (version: string) => ({ ...one, metadata: { ...one.metadata, resourceVersion: version } });
  const of = (claims: readonly (typeof one)[]) => versionsOf({ ...WHOLE, claims });
  expect(of([versioned("12"), versioned("3")])).not.toBe(of([versioned("1"), versioned("23")]));
  expect(versionsOf({ ...WHOLE, peers: [], claims: [one, other] })).not.toBe(
    versionsOf({ ...WHOLE, peers: [one, other] as never, claims: [] }),
  );
});
