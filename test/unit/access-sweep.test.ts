import { describe, expect, test } from "vitest";
import { wantedPermissions } from "#access/permissions.ts";
import { ROTATE_CREDENTIALS_ANNOTATION, USER_FINALIZER } from "#api/names.ts";
import { ETCD_ROLES, type EtcdRole } from "#api/v1beta1/role.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { etcdRole, etcdUser } from "#kit/snapshots/access.ts";
import { AccessWorld } from "#kit/world/access-world.ts";
import { SECRETS } from "#kube/kinds.ts";

// The controllers of roles and users against a simulated API server and etcd.
// The end is the same when the operator dies before or after any of its writes.

const READS_ORDERS = wantedPermissions([{ access: "Read", prefix: "orders/" }]);

function fresh(isEnabled = true): AccessWorld {
  const world = new AccessWorld();
  world.etcd.enabled = isEnabled;
  world.put(ETCD_ROLES, etcdRole({ held: false, claimed: false }));
  world.put(ETCD_USERS, etcdUser({ held: false, claimed: false }));
  return world;
}

async function settled(isEnabled = true): Promise<AccessWorld> {
  const world = fresh(isEnabled);
  await world.settle();
  return world;
}

function readyOf(world: AccessWorld): string {
  const [ready] = (world.get(ETCD_USERS, "app") as EtcdUser | undefined)?.status?.conditions ?? [];
  return `${ready?.status} ${ready?.reason}`;
}

/** The password in the Secret logs in as a user with exactly the permissions of the spec. */
function expectBound(world: AccessWorld): string {
  const { password = "", username = "" } = world.secret("app-binding") ?? {};
  expect(password.length).toBe(32);
  expect(world.etcd.users.get(username)).toEqual({ password, roles: new Set(["reader"]) });
  expect(world.etcd.roles.get("reader")).toEqual(READS_ORDERS);
  return password;
}

const ask = (user: EtcdUser): EtcdUser => ({
  ...user,
  metadata: { ...user.metadata, annotations: { [ROTATE_CREDENTIALS_ANNOTATION]: "now" } },
});

/** Acts of a person in a settled world, each with a check of the end. */
const STORIES: Readonly<Record<string, (world: AccessWorld) => (before: string) => void>> = {
  "the EtcdUser is created": (world) => () => void expectBound(world),
  "new credentials are requested": (world) => {
    world.edit(ETCD_USERS, "app", ask);
    return (before) => {
      expect(expectBound(world)).not.toBe(before);
      expect(world.get(ETCD_USERS, "app")?.status?.lastRotationTime).toBe("2026-01-01T12:00:00Z");
    };
  },
  "the Secret is deleted": (world) => {
    world.objects.delete("secrets/app-binding");
    world.restart();
    return (before) => expect(expectBound(world)).not.toBe(before);
  },
  "the password in the Secret is changed": (world) => {
    const password = Buffer.from("x".repeat(32)).toString("base64");
    world.edit(SECRETS, "app-binding", (secret) => ({ ...secret, data: { ...secret.data, password } }));
    world.restart();
    return () => expect(expectBound(world)).toBe("x".repeat(32));
  },
  "the user is deleted with etcdctl": (world) => {
    world.etcd.byHand(() => world.etcd.users.delete("app"));
    world.restart();
    return (before) => expect(expectBound(world)).toBe(before);
  },
  "the user gets a different role with etcdctl": (world) => {
    world.etcd.byHand(() => world.etcd.users.get("app")!.roles.add("root").delete("reader"));
    world.restart();
    return (before) => expect(expectBound(world)).toBe(before);
  },
  "the role is deleted with etcdctl": (world) => {
    world.etcd.byHand(() => {
      world.etcd.roles.delete("reader");
      world.etcd.users.get("app")!.roles.delete("reader");
    });
    world.restart();
    return (before) => expect(expectBound(world)).toBe(before);
  },
  "the role gets more permissions with etcdctl": (world) => {
    world.etcd.byHand(() => world.etcd.roles.set("reader", [...wantedPermissions([{ access: "Write", key: "a" }])]));
    world.restart();
    return (before) => expect(expectBound(world)).toBe(before);
  },
  "the EtcdUser is deleted": (world) => {
    world.delete(ETCD_USERS, "app");
    return () => {
      expect(world.etcd.users.size).toBe(0);
      expect(world.get(ETCD_USERS, "app")?.metadata.finalizers).toEqual(["theirs"]);
    };
  },
  "the EtcdUser and the EtcdRole are deleted": (world) => {
    for (const [of, name] of [[ETCD_USERS, "app"], [ETCD_ROLES, "reader"]] as const) {
      world.edit(of as typeof ETCD_USERS, name, (each) => ({ ...each, metadata: { ...each.metadata, finalizers: each.metadata.finalizers?.slice(1) ?? [] } }));
      world.delete(of as typeof ETCD_USERS, name);
    }
    return () => {
      expect([world.etcd.users.size, world.etcd.roles.size]).toEqual([0, 0]);
      expect([world.get(ETCD_USERS, "app"), world.get(ETCD_ROLES, "reader")]).toEqual([undefined, undefined]);
    };
  },
}; // biome-ignore format: a table

describe.each([true, false])("auth enabled: %s", (isEnabled) => {
  test.each(Object.entries(STORIES))(
    "the outcome is right even if the operator dies at any of its writes: %s",
    async (name, story) => {
      const begin = async () => (name === "the EtcdUser is created" ? fresh(isEnabled) : await settled(isEnabled));
      const whole = await begin();
      const before = whole.writes;
      const check = story(whole);
      const password = whole.secret("app-binding")?.password ?? "";
      await whole.settle();
      check(password);
      const writes = whole.writes - before;
      expect(writes).toBeGreaterThan(0);
      for (let nth = 1; nth <= writes; nth++) {
        for (const isDone of [true, false]) {
          const world = await begin();
          const secret = world.secret("app-binding")?.password ?? "";
          world.dies = { at: world.writes + nth, isDone };
          const check = story(world);
          await world.settle();
          expect(world.dies.at).toBe(Number.POSITIVE_INFINITY);
          check(secret);
        }
      }
    },
  );
});

test("with auth disabled, users and roles are prepared, and Ready has the reason AuthDisabled", async () => {
  const world = await settled(false);
  expectBound(world);
  expect(readyOf(world)).toBe("True AuthDisabled");
  expect(readyOf(await settled(true))).toBe("True Bound");
});

test("the operator neither changes nor deletes a user that a person has created in etcd", async () => {
  const world = fresh();
  world.etcd.byHand(() => world.etcd.users.set("app", { password: "p", roles: new Set(["root"]) }));
  expect(await world.settle()).toEqual(["reader: settled", "app: name-taken"]);
  expect(world.etcd.users.get("app")).toEqual({ password: "p", roles: new Set(["root"]) });
  world.delete(ETCD_USERS, "app");
  await world.settle();
  expect(world.etcd.users.has("app")).toBe(true);
});

test("with takeOver the operator takes over a user that a person has created, with or without a password", async () => {
  for (const password of ["p", undefined]) {
    const world = fresh();
    world.put(ETCD_USERS, etcdUser({ held: false, claimed: false, spec: { takeOver: true } }));
    world.etcd.byHand(() => world.etcd.users.set("app", { password, roles: new Set(["root"]) }));
    await world.settle();
    expectBound(world);
  }
});

test("with takeOver a user without a password is taken over and gets a password when auth is enabled", async () => {
  const world = fresh(false);
  world.put(ETCD_USERS, etcdUser({ held: false, claimed: false, spec: { takeOver: true } }));
  world.etcd.change({ do: "userAdd", user: "root", password: "p" });
  world.etcd.change({ do: "grantRole", user: "root", role: "root" });
  world.etcd.change({ do: "userAdd", user: "app", password: undefined });
  await world.settle();
  expect(readyOf(world)).toBe("True AuthDisabled");
  const { revision } = world.etcd;
  await world.etcd.authEnable();
  expect(world.etcd.revision).toBe(revision);
  await world.clock.advance(5 * 60_000);
  await world.settle();
  world.etcd.logIn("app", expectBound(world));
  expect(readyOf(world)).toBe("True Bound");
});

describe("a password of more than 72 bytes in the Secret", () => {
  const write = (world: AccessWorld, text: string) => {
    const password = Buffer.from(text).toString("base64");
    world.edit(SECRETS, "app-binding", (secret) => ({ ...secret, data: { ...secret.data, password } }));
    world.restart();
  };

  test.each([true, false])(
    "is reported, and the previous password stays valid; auth enabled: %s",
    async (isEnabled) => {
      const world = await settled(isEnabled);
      const before = expectBound(world);
      for (const text of ["x".repeat(73), "é".repeat(37)]) {
        write(world, text);
        expect(await world.settle()).toContain("app: await-password");
        expect(readyOf(world)).toBe("False PasswordRefused");
        expect(JSON.stringify(world.get(ETCD_USERS, "app")?.status)).toContain(`${Buffer.byteLength(text)} bytes`);
        expect(world.etcd.users.get("app")).toEqual({ password: before, roles: new Set(["reader"]) });
      }
      write(world, "y".repeat(72));
      await world.settle();
      expect(world.etcd.users.get("app")?.password).toBe("y".repeat(72));
    },
  );

  test("is refused even if its first 72 bytes are the current password", async () => {
    const world = await settled();
    write(world, "y".repeat(72));
    await world.settle();
    write(world, "y".repeat(73));
    expect(await world.settle()).toContain("app: await-password");
  });

  test("does not cause the removal of a user that exists without a password", async () => {
    const world = await settled();
    write(world, "x".repeat(73));
    world.etcd.byHand(() => world.etcd.users.set("app", { password: undefined, roles: new Set(["reader"]) }));
    expect(await world.settle()).toContain("app: await-password");
    expect(world.etcd.users.has("app")).toBe(true);
  });

  test("is replaced when new credentials are requested", async () => {
    const world = await settled();
    write(world, "x".repeat(73));
    await world.settle();
    world.edit(ETCD_USERS, "app", ask);
    await world.settle();
    expectBound(world);
  });
});

test("a user gets its existing roles at once, and a missing role when the role exists", async () => {
  const world = fresh();
  world.put(ETCD_USERS, etcdUser({ held: false, claimed: false, spec: { roles: ["reader", "later"] } }));
  expect(await world.settle()).toContain("app: await-role");
  expect(world.etcd.users.get("app")?.roles).toEqual(new Set(["reader"]));
  expect(readyOf(world)).toBe("False RoleMissing");
  world.etcd.byHand(() => world.etcd.roles.set("later", []));
  world.restart();
  await world.settle();
  expect(world.etcd.users.get("app")?.roles).toEqual(new Set(["reader", "later"]));
});

test("an EtcdUser of a deleted cluster is released at once, without a call to etcd", async () => {
  const world = await settled();
  world.cluster = undefined;
  const calls = world.etcd.calls.length;
  world.delete(ETCD_USERS, "app");
  await world.settle();
  expect(world.get(ETCD_USERS, "app")?.metadata.finalizers).toEqual(["theirs"]);
  expect(world.etcd.calls.length).toBe(calls);
});

describe("a settled EtcdUser", () => {
  test("is checked against etcd every five minutes, by one call for all objects of the cluster", async () => {
    const world = await settled();
    for (let more = 0; more < 10; more++)
      world.put(ETCD_USERS, etcdUser({ name: `u${more}`, held: false, claimed: false }));
    await world.settle();
    const [calls, reads] = [world.etcd.calls.length, world.secretsRead];
    await world.settle();
    expect([world.etcd.calls.length, world.secretsRead]).toEqual([calls, reads]);
    await world.clock.advance(5 * 60_000);
    await world.settle();
    expect(world.etcd.calls.slice(calls)).toEqual(["AuthStatus"]);
    expect(world.secretsRead - reads).toBe(11);
  });

  test("is corrected within five minutes after a change with etcdctl, by one write", async () => {
    const world = await settled();
    world.etcd.byHand(() => world.etcd.users.get("app")!.roles.delete("reader"));
    await world.settle();
    expect(world.etcd.users.get("app")?.roles).toEqual(new Set());
    const { writes } = world;
    await world.clock.advance(5 * 60_000);
    await world.settle();
    expectBound(world);
    expect(world.writes - writes).toBe(1);
  });

  test("is checked more and more rarely while etcd is silent, by one call for all objects", async () => {
    const world = await settled();
    world.etcd.isSilent = true;
    await world.clock.advance(5 * 60_000);
    const calls = () => world.etcd.calls.length;
    let before = calls();
    expect(await world.settle()).toEqual(["reader: await-etcd", "app: await-etcd"]);
    expect(calls() - before).toBe(1);
    expect(readyOf(world)).toBe("Unknown EtcdUnreachable");
    before = calls();
    for (let second = 0; second < 60; second++) {
      await world.clock.advance(1_000);
      await world.settle();
    }
    expect(calls() - before).toBeLessThan(7);
    world.etcd.isSilent = false;
    await world.clock.advance(60_000);
    await world.settle();
    expect(readyOf(world)).toBe("True Bound");
  });

  test("is checked at once when a member gets a new pod, even after failed calls", async () => {
    const world = await settled();
    world.etcd.isSilent = true;
    await world.clock.advance(5 * 60_000);
    await world.settle();
    world.etcd.isSilent = false;
    await world.settle();
    expect(readyOf(world)).toBe("Unknown EtcdUnreachable");
    world.pods = world.pods.map((pod) => ({ ...pod, metadata: { ...pod.metadata, uid: "another" } }));
    await world.settle();
    expect(readyOf(world)).toBe("True Bound");
  });
});

test("no object except a Secret contains the password of a user", async () => {
  const world = await settled();
  const password = expectBound(world);
  expect(JSON.stringify([...world.objects].filter(([key]) => !key.startsWith("secrets/")))).not.toContain(password);
});

test.each([["role"], ["user"]] as const)(
  "the operator leaves a %s alone that a person creates after the operator found none",
  async (what) => {
    const world = await settled();
    const kind = what === "role" ? ETCD_ROLES : ETCD_USERS;
    // The name is in use already: an EtcdUser refers to the role, or an EtcdUser had the user's name.
    if (what === "role")
      world.edit(ETCD_USERS, "app", (user) => ({ ...user, spec: { ...user.spec, roles: ["later"] } }));
    else world.put(ETCD_USERS, etcdUser({ name: "later", held: false, claimed: false }));
    await world.settle();
    if (what === "user") {
      world.delete(ETCD_USERS, "later");
      world.edit(ETCD_USERS, "later", (each) => ({
        ...each,
        metadata: { ...each.metadata, finalizers: [USER_FINALIZER] },
      }));
      await world.settle();
      expect(world.get(ETCD_USERS, "later")).toBeUndefined();
    }
    world.etcd.byHand(() => {
      if (what === "role") world.etcd.roles.set("later", [...READS_ORDERS]);
      else world.etcd.users.set("later", { password: "theirs", roles: new Set(["reader"]) });
    });
    if (what === "role")
      world.put(ETCD_ROLES, etcdRole({ name: "later", held: false, claimed: false, spec: { permissions: [] } }));
    else world.put(ETCD_USERS, etcdUser({ name: "later", held: false, claimed: false, spec: { roles: [] } }));
    await world.settle();
    expect(world.get<EtcdRole | EtcdUser>(kind as never, "later")?.status?.conditions?.[0]?.reason).toBe("NameTaken");
    expect(world.etcd.roles.get(what === "role" ? "later" : "reader")).toEqual(READS_ORDERS);
    if (what === "user") expect(world.etcd.users.get("later")?.password).toBe("theirs");
  },
);
