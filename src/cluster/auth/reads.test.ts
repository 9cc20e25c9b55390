import { ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { absent, present } from "#base/observed.ts";
import type { EtcdClient } from "#etcd/client.ts";
import { type EtcdRefusal, REFUSAL_TEXTS } from "#etcd/error.ts";
import { authority, leaf } from "#kit/snapshots/certificates.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { guarded } from "#kit/snapshots/cluster-auth.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { Secret } from "#kube/kinds.ts";
import { AuthReads } from "./reads.ts";
import type { SeenAuth } from "./seen.ts";

const { signal } = new AbortController();
const pair = await leaf(await authority(), { fromMs: NOW, untilMs: NOW + 1, commonName: "op" });
const identity = { ca: "", cert: pair.certificate, key: "", secretName: "my-etcd-operator-tls" };
const KEY = { namespace: "foo", name: "my-etcd" };

function refused(name: EtcdRefusal): OperatorError {
  return new OperatorError("EtcdRejected", name, { cause: new ConnectError(REFUSAL_TEXTS[name]) });
}

function secret(
  given: {
    password?: string;
    version?: string;
    username?: string;
    labels?: Record<string, string>;
    owner?: string | undefined;
  } = {},
): Secret {
  const { password = "right", version = "1", username = "root", labels = {} } = given;
  const owner = "owner" in given ? given.owner : "uid-of-cluster";
  const ownerReferences =
    owner === undefined
      ? []
      : [
          {
            apiVersion: "etcd.improbable.io/v1beta1",
            kind: "EtcdCluster",
            name: "my-etcd",
            uid: owner,
            controller: true,
          },
        ];
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "foo", name: "my-etcd-root", uid: "u", resourceVersion: version, labels, ownerReferences },
    data: { username: base64(username), password: base64(password) },
  } as unknown as Secret;
}

function answering<T>(answer: () => T): Promise<T> {
  return Promise.resolve().then(answer);
}

/** An etcd with authentication and these users; the password of root is "right". */
function world(
  given: { enabled?: boolean; users?: Record<string, string[]>; tellsAll?: boolean; fails?: OperatorError } = {},
) {
  const clock = new FakeClock();
  const calls: string[] = [];
  const state = {
    enabled: true,
    users: { op: ["root"], root: ["root"] } as Record<string, string[]>,
    found: present(secret()) as ReturnType<typeof present<Secret>> | typeof absent,
    password: "right" as string | undefined,
    roles: ["root"],
    revision: 1,
    listFails: undefined as Error | undefined,
    held: { users: new Map<string, string>(), roles: new Set<string>() },
    ...given,
  };
  const mayAll = () => !state.enabled || state.users.op?.includes("root");
  const etcd = {
    authStatus: () =>
      answering(() => {
        calls.push("AuthStatus");
        if (state.fails !== undefined) throw state.fails;
        if (state.tellsAll !== true && !mayAll())
          throw refused(state.users.op === undefined ? "UserNotFound" : "PermissionDenied");
        return { enabled: state.enabled, revision: state.revision };
      }),
    userGet: (_: unknown, name: string) =>
      answering(() => {
        calls.push(`UserGet ${name}`);
        if (!mayAll() && name !== "op") throw refused("PermissionDenied");
        const roles = state.users[name];
        if (roles === undefined) throw refused("UserNotFound");
        return roles;
      }),
    userList: () =>
      answering(() => {
        calls.push("UserList");
        if (state.listFails !== undefined) throw state.listFails;
        return Object.keys(state.users);
      }),
    roleList: () =>
      answering(() => {
        calls.push("RoleList");
        return state.roles;
      }),
    authenticate: (_: unknown, name: string, password: string) =>
      answering(() => {
        calls.push(`Authenticate ${name}`);
        if (state.password === undefined) throw refused("NoPasswordUser");
        if (password !== state.password) throw refused("AuthFailed");
      }),
  } as unknown as EtcdClient;
  const kube = { find: () => Promise.resolve(state.found) };
  const identities = { identityOf: () => identity };
  const reads = new AuthReads({ kube: kube as never, etcd, identities, clock });
  const addressee = { endpoint: { address: "10.0.0.1:2379" }, options: { signal } };
  const look = async (of = guarded(), to: typeof addressee | undefined = addressee) => {
    calls.length = 0;
    return await reads.look(of.cluster, to, of.auth?.next, () => state.held, signal);
  };
  return { clock, calls, state, reads, look };
}

const LISTS = ["UserList", "RoleList"];

const stateIn = (seen: Pick<SeenAuth, "state"> | undefined) =>
  seen?.state.is === "present" ? seen.state.value : seen?.state;

describe("the observation of etcd's users", () => {
  test("has the roles of the operator and root, and whether root has the Secret's password", async () => {
    const { look } = world();
    const seen = await look();
    expect(seen?.user).toBe("op");
    expect(seen?.rootSecret).toEqual(present({ name: "my-etcd-root", version: "u 1", trouble: undefined }));
    expect(stateIn(seen)).toEqual({ enabled: true, operator: ["root"], root: ["root"], isRootsPassword: true });
  });

  test("contains no password", async () => {
    const { look } = world();
    expect(JSON.stringify(await look())).not.toContain("right");
  });

  test.each([true, false])(
    "has that authentication is on for an operator without the root role (auth status open to all users: %s)",
    async (tellsAll) => {
      const { look, calls } = world({ users: { root: ["root"] }, tellsAll });
      expect(stateIn(await look())).toEqual({
        enabled: true,
        operator: undefined,
        root: undefined,
        isRootsPassword: false,
      });
      expect(calls).not.toContain("UserGet root");
      const reader = world({ users: { op: ["reader"] }, tellsAll });
      expect(stateIn(await reader.look())).toMatchObject({ enabled: true, operator: ["reader"] });
    },
  );

  test("is unknown when etcd does not answer or no member can be dialled", async () => {
    const { look } = world({ fails: new OperatorError("EtcdUnavailable", "no answer") });
    expect((await look())?.state).toEqual({ is: "unknown", why: "no answer" });
    expect((await look(guarded(), undefined))?.state).toEqual({ is: "unknown", why: "no answer" });
    await expect(world({ fails: new OperatorError("Cancelled", "the end") }).look()).rejects.toThrow("the end");
    await expect(world({ fails: new Error("a bug") as OperatorError }).look()).rejects.toThrow("a bug");
  });

  test("is absent when spec.auth is unset and authentication was never on", async () => {
    const { look, calls } = world();
    expect(await look(guarded({ wanted: undefined }))).toBeUndefined();
    expect(calls).toEqual([]);
    expect(stateIn(await look(guarded({ wanted: undefined, recorded: true })))).toMatchObject({ enabled: true });
  });

  test("takes the password that the operator set last as root's while authentication is off", async () => {
    const { look, reads, state } = world({ enabled: false });
    expect(stateIn(await look())).toMatchObject({ isRootsPassword: false });
    reads.hasProved(KEY, { name: "", version: "u 1", trouble: undefined });
    expect(stateIn(await look())).toMatchObject({ isRootsPassword: true });
    state.found = present(secret({ version: "2" }));
    expect(stateIn(await look())).toMatchObject({ isRootsPassword: false });
    state.found = absent;
    expect(stateIn(await look())).toMatchObject({ isRootsPassword: false });
  });
});

describe("etcd's users are read", () => {
  test("once a minute at rest, with a password check every ten minutes", async () => {
    const { look, calls, clock } = world();
    const asked = async (ms: number) => {
      await clock.advance(ms);
      await look();
      return [...calls];
    };
    expect(await asked(0)).toEqual(["AuthStatus", "UserGet op", "UserGet root", "Authenticate root", ...LISTS]);
    expect(await asked(54_000)).toEqual([]);
    // A cluster at rest among many is observed every 58 s, and each observation asks.
    expect(await asked(4_000)).toEqual(["AuthStatus", "UserGet op", "UserGet root"]);
    expect(await asked(600_000)).toContain("Authenticate root");
  });

  test("again, without the previous password check, for a recreated EtcdCluster", async () => {
    const { look, calls, reads, state } = world();
    await look();
    reads.hasProved(KEY, { name: "", version: "u 1", trouble: undefined });
    state.enabled = false;
    const again = guarded();
    const { cluster } = again;
    const other = { ...again, cluster: { ...cluster, metadata: { ...cluster.metadata, uid: "uid-of-another" } } };
    state.found = present(secret({ owner: "uid-of-another" }));
    expect(stateIn(await look(other))).toMatchObject({ enabled: false, isRootsPassword: false });
    expect(calls).toEqual(["AuthStatus", "UserGet op", "UserGet root", ...LISTS]);
  });

  test("at each observation while work is pending, and after each step", async () => {
    const wrong = world();
    wrong.state.password = "another";
    for (let n = 0; n < 2; n++) {
      expect(stateIn(await wrong.look())).toMatchObject({ isRootsPassword: false });
      expect(wrong.calls).toContain("Authenticate root");
    }
    for (const given of [guarded({ wanted: false })]) {
      const { look, calls } = world();
      await look(given);
      await look(given);
      expect(calls).toContain("AuthStatus");
    }
    const { look, calls, reads } = world();
    await look();
    reads.hasChanged(KEY);
    await look();
    expect(calls).toEqual(["AuthStatus", "UserGet op", "UserGet root"]);
  });

  test("at each observation until the operator's next user is an administrator", async () => {
    const { look, calls, state } = world();
    const ahead = guarded({ next: "next" });
    await look();
    for (const roles of [undefined, []]) {
      if (roles !== undefined) state.users.next = roles;
      expect(stateIn(await look(ahead))).toMatchObject({ next: roles });
      expect(calls).toContain("UserGet next");
    }
    state.users.next = ["root"];
    expect(stateIn(await look(ahead))).toMatchObject({ next: ["root"] });
    await look(ahead);
    expect(calls).toEqual([]);
    await look(guarded({ next: "op" }));
    expect(calls).not.toContain("UserGet next");
    await look(guarded({ next: "op" }));
    expect(calls).toEqual([]);
    const stranger = world({ users: { root: ["root"], next: ["root"] } });
    expect(stateIn(await stranger.look(ahead))).toMatchObject({ next: undefined });
    expect(stranger.calls).not.toContain("UserGet next");
  });

  test("and a root user without a password is reported", async () => {
    const { look, state } = world();
    state.password = undefined;
    expect(stateIn(await look())).toMatchObject({ isRootsPassword: false, isRootWithoutPassword: true });
    state.password = "another";
    expect(stateIn(await look())).not.toHaveProperty("isRootWithoutPassword");
  });

  test("so that a root password changed by hand is detected at the next password check", async () => {
    const { look, clock, state } = world();
    await look();
    state.password = "by hand";
    await clock.advance(601_000);
    expect(stateIn(await look())).toMatchObject({ isRootsPassword: false });
  });
});

describe("the names of all users and roles in etcd are read", () => {
  const MINUTE_MS = 60_000;

  test("once, and again after a change of etcd's auth revision", async () => {
    const { look, calls, clock, state } = world();
    expect((await look())?.unmanaged).toEqual({});
    await clock.advance(MINUTE_MS);
    Object.assign(state.users, { ann: [] });
    state.roles = ["root", "reader"];
    expect((await look())?.unmanaged).toEqual({});
    expect(calls).not.toContain("UserList");
    await clock.advance(MINUTE_MS);
    state.revision = 3;
    const told = { users: { count: 1, names: ["ann"] }, roles: { count: 1, names: ["reader"] } };
    expect((await look())?.unmanaged).toEqual(told);
    expect(calls).toEqual(expect.arrayContaining(LISTS));
    await clock.advance(MINUTE_MS);
    expect((await look())?.unmanaged).toEqual(told);
    expect(calls).not.toContain("RoleList");
  });

  test("again when EtcdUsers or EtcdRoles change", async () => {
    const { look, calls, clock, state, reads } = world();
    Object.assign(state.users, { ann: [] });
    state.held = { users: new Map([["ann", "ann"]]), roles: new Set() };
    expect((await look())?.unmanaged).toEqual({});
    await clock.advance(MINUTE_MS);
    state.held = { users: new Map(), roles: new Set() };
    expect((await look())?.unmanaged).toEqual({ users: { count: 1, names: ["ann"] } });
    await clock.advance(MINUTE_MS);
    state.held = { users: new Map(), roles: new Set(["reader"]) };
    await look();
    expect(calls).toContain("UserList");
    reads.forget(KEY);
    await look();
    expect(calls).toContain("UserList");
  });

  test("only when the operator is an administrator, and a failure affects no other reads", async () => {
    const stranger = world({ users: { root: ["root"] }, tellsAll: true });
    expect((await stranger.look())?.unmanaged).toBeUndefined();
    expect(stranger.calls).not.toContain("UserList");
    const { look, state, clock, calls } = world();
    state.listFails = new OperatorError("EtcdUnavailable", "too long an answer");
    const seen = await look();
    expect(stateIn(seen)).toMatchObject({ enabled: true });
    expect(seen?.unmanaged).toBeUndefined();
    state.listFails = undefined;
    await clock.advance(MINUTE_MS);
    expect((await look())?.unmanaged).toEqual({});
    expect(calls).toContain("UserList");
    for (const thrown of [new OperatorError("Cancelled", "the end"), new Error("a bug")]) {
      const failing = world();
      failing.state.listFails = thrown;
      await expect(failing.look()).rejects.toThrow(thrown.message);
    }
  });
});

test.each<[Parameters<typeof secret>[0], string | undefined]>([
  [{}, undefined],
  [{ owner: undefined, labels: { "etcd.improbable.io/cluster-name": "my-etcd" } }, undefined],
  [
    { owner: undefined },
    "it is not this cluster's; label it etcd.improbable.io/cluster-name=my-etcd to use its password, or delete it to have one created",
  ],
  [
    { owner: "another", labels: { "etcd.improbable.io/cluster-name": "theirs" } },
    "it is not this cluster's; label it etcd.improbable.io/cluster-name=my-etcd to use its password, or delete it to have one created",
  ],
  [{ username: "admin" }, "its username is not root; it must be root"],
  [{ username: "" }, "its username is empty; it must be root"],
  [{ password: "" }, "its password is empty; set one, or delete the Secret to have one created"],
])("root's Secret with %j has the problem: %s", async (given, trouble) => {
  const { look, state, calls } = world();
  state.found = present(secret(given));
  const seen = await look();
  expect(seen?.rootSecret).toMatchObject({ value: { trouble } });
  expect(calls.includes("Authenticate root")).toBe(trouble === undefined);
});
