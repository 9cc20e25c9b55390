import { describe, expect, test } from "vitest";
import { EtcdCalls } from "#access/calls.ts";
import { AccessReads } from "#access/reads.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { OperatorError } from "#base/error.ts";
import { absent } from "#base/observed.ts";
import { Keyring } from "#certificates/keyring.ts";
import type { EtcdAuth } from "#etcd/auth.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { etcdOf } from "#kit/snapshots/access.ts";
import { NOW, pod } from "#kit/snapshots/cluster.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import { FakeAuth } from "#kit/world/access-world.ts";
import type { Pod } from "#kube/kinds.ts";

const { signal } = new AbortController();

function member(name: string, role: "Leader" | "Voter" | "Learner" = "Voter") {
  return { name, id: "1", role, health: "Healthy" as const };
}

/** A pod of etcd with its own address. */
function podAt(name: string, address: string, ready = true): Pod {
  const made = pod(name, { ready });
  return { ...made, status: { ...made.status, podIP: address } };
}

const PODS = [podAt("my-etcd-0", "10.0.0.1"), podAt("my-etcd-1", "10.0.0.2"), podAt("my-etcd-2", "10.0.0.3")];

/** @param silent addresses that never answer */
function world(
  members = [member("my-etcd-0"), member("my-etcd-1"), member("my-etcd-2", "Leader")],
  silent: readonly string[] = [],
) {
  const clock = new FakeClock(NOW);
  const etcd = new FakeAuth(() => undefined);
  const cluster = etcdOf(null, { status: { members } });
  const state = { pods: PODS as readonly Pod[], silent };
  const sources = {
    clock,
    etcd: etcd as EtcdAuth,
    identities: new Keyring(),
    kube: { find: () => Promise.resolve(absent) },
    stop: signal,
    pods: { get: () => undefined, byIndex: () => state.pods },
  };
  const asked: string[] = [];
  const reach = (at: Endpoint) => {
    asked.push(at.address);
    if (state.silent.some((each) => at.address.startsWith(each)))
      throw new OperatorError("EtcdUnavailable", `${at.address}: no answer`);
    return Promise.resolve();
  };
  const calls = new EtcdCalls(sources);
  const change = async () => await calls.change(cluster, signal, (_, at) => Promise.resolve(at).then(reach));
  const ask = async () => await calls.ask(cluster, signal, (at) => Promise.resolve(at).then(reach));
  const flush = () => asked.splice(0).map((address) => address.replace(":2379", ""));
  return { clock, etcd, cluster, state, sources, calls, change, ask, flush };
}

describe("a change in etcd is sent to", () => {
  test("the leader, once", async () => {
    const { change, flush } = world();
    await change();
    expect(flush()).toEqual(["10.0.0.3"]);
  });

  test("neither a learner nor a member with a pod that is not ready", async () => {
    const { change, flush, state } = world([member("my-etcd-0", "Learner"), member("my-etcd-1"), member("my-etcd-2")]);
    await change();
    expect(flush()).toEqual(["10.0.0.2"]);
    state.pods = [PODS[0]!, podAt("my-etcd-1", "10.0.0.2", false)];
    await expect(change()).rejects.toThrow("no voting member has a ready pod");
    expect(flush()).toEqual([]);
  }); // biome-ignore format: a table

  test("another member after a failure, and a member that did not answer again a minute later", async () => {
    const { change, flush, clock } = world(undefined, ["10.0.0.3"]);
    await expect(change()).rejects.toMatchObject({ code: "EtcdUnavailable" });
    expect(flush()).toEqual(["10.0.0.3"]);
    await expect(change()).rejects.toMatchObject({ code: "EtcdUnavailable" });
    expect(flush()).toEqual([]);
    await clock.advance(2_000);
    await change();
    expect(flush()).toEqual(["10.0.0.1"]);
    await clock.advance(58_000);
    await expect(change()).rejects.toMatchObject({ code: "EtcdUnavailable" });
    expect(flush()).toEqual(["10.0.0.3"]);
  });
});

describe("a read is sent to", () => {
  test("the leader, and to another member when the leader does not answer", async () => {
    const { ask, flush } = world(undefined, ["10.0.0.3"]);
    expect((await ask()).is).toBe("present");
    expect(flush()).toEqual(["10.0.0.3", "10.0.0.1"]);
    await ask();
    expect(flush()).toEqual(["10.0.0.1"]);
  });

  test("two members of a cluster that does not answer, and to none during the backoff", async () => {
    const { ask, flush, clock } = world(undefined, ["10."]);
    expect(await ask()).toMatchObject({ is: "unknown", why: "10.0.0.1:2379: no answer" });
    expect(flush()).toHaveLength(2);
    for (let user = 0; user < 100; user++) await ask();
    expect(flush()).toEqual([]);
    await clock.advance(2_000);
    await Promise.all(Array.from({ length: 100 }, ask));
    expect(flush()).toHaveLength(2);
    await clock.advance(2_000);
    await ask();
    expect(flush()).toEqual([]);
    await clock.advance(2_000);
    await ask();
    expect(flush()).toHaveLength(2);
  });

  test("two members after concurrent failures, which extend the backoff once", async () => {
    const { ask, flush, clock } = world(undefined, ["10."]);
    await Promise.all(Array.from({ length: 10 }, ask));
    expect(flush()).toHaveLength(20);
    await clock.advance(2_000);
    await ask();
    expect(flush()).toHaveLength(2);
  });

  test("two members again whenever a pod's readiness changes, and a change to one member", async () => {
    const { ask, change, flush, state } = world(undefined, ["10."]);
    await ask();
    flush();
    for (const ready of [false, true, false]) {
      state.pods = [...PODS.slice(1), podAt("my-etcd-0", "10.0.0.1", ready)];
      await Promise.all(Array.from({ length: 100 }, ask));
      expect(flush()).toHaveLength(2);
    }
    state.pods = PODS;
    await Promise.allSettled(Array.from({ length: 100 }, change));
    expect(flush()).toHaveLength(1);
  });

  test("a member at once when a member's pod was replaced", async () => {
    const { ask, flush, state } = world(undefined, ["10."]);
    await ask();
    flush();
    state.silent = [];
    state.pods = [...PODS.slice(1), podAt("my-etcd-0", "10.0.0.9")];
    expect((await ask()).is).toBe("present");
  });
});

/** Reads in which these users are cached. */
async function cached(names: readonly string[]) {
  const given = world();
  const { etcd, cluster, sources } = given;
  const access = new AccessReads(sources);
  etcd.enabled = true;
  for (const name of names) etcd.byHand(() => etcd.users.set(name, { password: name, roles: new Set() }));
  const look = async () => {
    for (const name of names) {
      await access.user(cluster, name, signal);
      await access.password(cluster, name, "1", () => Promise.resolve(name), signal);
    }
    return etcd.calls.splice(0);
  };
  await look();
  const grant = (name: string) =>
    access.change(cluster, signal, { user: name }, (to, at, options) => to.userGrantRole(at, name, "reader", options));
  return { ...given, access, look, grant };
}

test("cancelling one pass does not cancel a request that other passes share", async () => {
  const { sources, etcd, cluster } = world();
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  const authStatus: EtcdAuth["authStatus"] = async (_, options) => {
    await Promise.race([answered, new Promise((_, reject) => options.signal.addEventListener("abort", () => reject(new OperatorError("Cancelled", "stopped"))))]);
    return await FakeAuth.prototype.authStatus.call(etcd);
  }; // biome-ignore format: one line
  const stop = new AbortController();
  const access = new AccessReads({ ...sources, etcd: Object.assign(etcd, { authStatus }), stop: stop.signal });
  const [first, last] = [new AbortController(), new AbortController()];
  const [one, other, third] = [first.signal, signal, last.signal].map((each) => access.look(cluster, each));
  first.abort();
  await expect(one).rejects.toMatchObject({ code: "Cancelled" });
  resolve();
  expect([await other, await third]).toMatchObject([{ is: "present" }, { is: "present" }]);
  await expect(access.look({ ...cluster, metadata: { ...cluster.metadata, name: "b" } }, first.signal)).rejects.toMatchObject({ code: "Cancelled" }); // biome-ignore format: one line
});

describe("cached users of etcd stay valid", () => {
  test("after a change that etcd refuses, and only the changed user is read again", async () => {
    const { look, grant } = await cached(["a", "b", "c"]);
    await expect(grant("b")).rejects.toMatchObject({ code: "EtcdRejected" });
    expect(await look()).toEqual(["AuthStatus", "UserGet b", "Authenticate b"]);
    expect(await look()).toEqual([]);
  });

  test("after a change without an answer, when the auth revision has not changed", async () => {
    const { look, grant, etcd, clock } = await cached(["a", "b"]);
    etcd.roles.set("reader", []);
    etcd.isSilent = true;
    await expect(grant("b")).rejects.toMatchObject({ code: "EtcdUnavailable" });
    etcd.isSilent = false;
    await clock.advance(2_000);
    etcd.calls.length = 0;
    expect(await look()).toEqual(["AuthStatus", "UserGet b", "Authenticate b"]);
  });

  test("after concurrent changes by the operator, and only the changed users are read again", async () => {
    const { look, grant, etcd, clock } = await cached(["a", "b", "c"]);
    etcd.roles.set("reader", []);
    await Promise.all([grant("a"), grant("b")]);
    etcd.calls.length = 0;
    await clock.advance(4 * 60_000);
    expect(await look()).toEqual(["AuthStatus", "UserGet a", "Authenticate a", "UserGet b", "Authenticate b"]);
  });

  test("when status.auth.unmanaged changes, but not when status.auth.enabled changes", async () => {
    const { etcd, access, cluster } = await cached(["a"]);
    const saying = async (auth: object) => {
      await access.user(
        { ...cluster, status: { ...cluster.status, auth } as NonNullable<EtcdCluster["status"]> },
        "a",
        signal,
      );
      return etcd.calls.splice(0);
    };
    expect(await saying({ enabled: true })).toEqual(["AuthStatus"]);
    expect(await saying({ enabled: true, unmanaged: { users: ["by-hand"], roles: [] } })).toEqual([]);
    expect(await saying({ enabled: false })).toEqual(["AuthStatus"]);
  });

  test("neither after manual changes in etcd nor when the cluster was not read for an hour", async () => {
    const { look, etcd, clock, access, cluster } = await cached(["a"]);
    etcd.byHand(() => undefined);
    await clock.advance(4 * 60_000);
    expect(await look()).toEqual(["AuthStatus", "UserGet a", "Authenticate a"]);
    await clock.advance(60 * 60_000);
    const other = { ...cluster, metadata: { ...cluster.metadata, name: "other" } };
    await access.look(other, signal);
    etcd.calls.length = 0;
    expect(await look()).toEqual(["AuthStatus", "UserGet a", "Authenticate a"]);
  });
});
