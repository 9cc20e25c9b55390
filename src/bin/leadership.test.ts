import { describe, expect, test } from "vitest";
import { createLog } from "#base/log.ts";
import { LeaseServer } from "#kit/servers/kube-lease-server.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Ref } from "#kube/kinds.ts";
import type { LeaseClient } from "#kube/lease.ts";
import type { Flags } from "./flags.ts";
import { leadershipOf, shardLeadershipOf } from "./leadership.ts";

const OWN = "operators/etcd-cluster-operator";
const WHOLE = "kube-system/etcd-cluster-operator";

/** Leases by name, and the logs of the processes that use them. */
function setUp() {
  const clock = new FakeClock();
  const leases = new Map<string, LeaseServer>();
  const at = ({ namespace, name }: Ref): LeaseClient => {
    const key = `${namespace}/${name}`;
    const server = leases.get(key) ?? new LeaseServer();
    leases.set(key, server);
    return server.client(
      () => "arrives",
      () => Promise.resolve(),
    );
  };
  const client = {
    get: (resource, ref, options) => at(ref).get(resource, ref, options),
    create: (resource, draft, options) => at(draft.metadata as Ref).create(resource, draft, options),
    replace: (resource, draft, options) => at(draft.metadata as Ref).replace(resource, draft, options),
    patch: (resource, ref, patch, options) => at(ref).patch(resource, ref, patch, options),
  } satisfies LeaseClient as unknown as KubeClient;
  const lines: string[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(line) });
  const flags = (identity: string, more: Partial<Flags> = {}) =>
    ({ operatorNamespace: "operators", clusterLeaseNamespace: "kube-system", identity, shards: 3, ...more }) as Flags;
  const holders = () =>
    Object.fromEntries([...leases].map(([key, { lease }]) => [key, lease?.spec?.holderIdentity ?? ""]));
  /** Lines of the log that explain why a process waits. */
  const waitingLines = () =>
    lines
      .map((line) => JSON.parse(line) as { level: string; name: string; msg: string })
      .filter(({ msg }) => msg.includes("waits"))
      .map(({ level, name, msg }) => `${level} ${name}: ${msg}`);
  return { clock, client, log, flags, holders, waitingLines };
}

/** Work that runs until it is aborted. */
const TERM = {
  onStarted: (signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())),
};

describe("a process without shards", () => {
  test("holds its installation's lease and that of the Kubernetes cluster, and an operator of another installation waits", async () => {
    const { clock, client, log, flags, holders, waitingLines } = setUp();
    const stop = new AbortController();
    const leadership = leadershipOf(client, flags("a"), { clock, log });
    const done = leadership.run(stop.signal, TERM);
    await clock.advance(1_000);
    expect(leadership.mayAct()).toBe(true);
    expect(holders()).toEqual({ [OWN]: "a", [WHOLE]: "operators/a" });
    const second = leadershipOf(client, flags("b"), { clock, log });
    const waiting = second.run(stop.signal, TERM);
    const elsewhere = leadershipOf(client, flags("c", { operatorNamespace: "elsewhere" }), { clock, log });
    const rival = elsewhere.run(stop.signal, TERM);
    await clock.advance(20_000);
    expect([second, elsewhere].map((each) => each.mayAct())).toEqual([false, false]);
    expect(waitingLines()).toEqual([
      "warn operators/a: an operator of another installation leads in this Kubernetes cluster, so this one waits; uninstall one of them",
    ]);
    stop.abort();
    await clock.advance(5_000);
    await Promise.all([done, waiting, rival]);
    expect(new Set(Object.values(holders()))).toEqual(new Set([""]));
  });

  test("holds one lease when the leases of the installation and of the Kubernetes cluster are the same", async () => {
    const { clock, client, log, flags, holders } = setUp();
    const stop = new AbortController();
    const leadership = leadershipOf(client, flags("a", { operatorNamespace: "kube-system" }), { clock, log });
    const done = leadership.run(stop.signal, TERM);
    await clock.advance(1_000);
    expect(leadership.mayAct()).toBe(true);
    expect(holders()).toEqual({ [WHOLE]: "a" });
    stop.abort();
    await clock.advance(5_000);
    await done;
  });
});

describe("a process with shards", () => {
  test("holds both leases with its group and each shard's lease alone, while replicas with another number of shards wait", async () => {
    const { clock, client, log, flags, holders, waitingLines } = setUp();
    const stop = new AbortController();
    const run = (of: Flags) => {
      const { group, elections } = shardLeadershipOf(client, of, { clock, log });
      const work = elections.map((each) => each.run(stop.signal, TERM));
      return { group, elections, done: group.during(async () => void (await Promise.all(work))) };
    };
    const a = run(flags("a"));
    await clock.advance(3_000);
    expect(a.group.mayAct()).toBe(true);
    expect(a.group.alive()).toEqual(["a"]);
    expect(a.elections.map((each) => each.mayAct())).toEqual([true, true, true]);
    expect(holders()).toEqual({
      [OWN]: "shards-rule2-of-3",
      [WHOLE]: "operators/shards-rule2-of-3",
      [`${OWN}-shard-0`]: "a",
      [`${OWN}-shard-1`]: "a",
      [`${OWN}-shard-2`]: "a",
    });
    const more = run(flags("b", { shards: 2 }));
    const elsewhere = run(flags("c", { operatorNamespace: "elsewhere" }));
    await clock.advance(20_000);
    expect([more, elsewhere].map(({ group }) => group.mayAct())).toEqual([false, false]);
    expect(waitingLines().toSorted()).toEqual([
      "info shards-rule2-of-3: a replica with another number of shards leads; this one, with 2, waits until the last of them has ended",
      "warn operators/shards-rule2-of-3: an operator of another installation leads in this Kubernetes cluster, so this one waits; uninstall one of them",
    ]);
    stop.abort();
    await clock.advance(10_000);
    await Promise.all([a, more, elsewhere].map(({ done }) => done));
  });

  test("holds one lease with its group when the leases of the installation and of the Kubernetes cluster are the same", async () => {
    const { clock, client, log, flags, holders } = setUp();
    const stop = new AbortController();
    const { group } = shardLeadershipOf(client, flags("a", { operatorNamespace: "kube-system" }), { clock, log });
    const done = group.during(() => TERM.onStarted(stop.signal));
    await clock.advance(3_000);
    expect(group.mayAct()).toBe(true);
    expect(holders()).toEqual({ [WHOLE]: "shards-rule2-of-3" });
    stop.abort();
    await clock.advance(5_000);
    await done;
  });
});
