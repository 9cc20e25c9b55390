import { OPERATOR, ROOT } from "#api/names.ts";
import type { AuthChange } from "#kit/world/auth.ts";
import { NO_CALL_FAULTS } from "#kit/world/calls.ts";
import { CLUSTER, NAMESPACE } from "#kit/world/people.ts";
import { SECRETS } from "#kube/kinds.ts";
import { usersVerdict } from "../auth-invariants.ts";
import { usersOf } from "../auth-memory.ts";
import { type Certified, certified } from "./certified.ts";
import type { Story } from "./scene.ts";

// Clusters with etcd auth enabled.

const HOUR_MS = 3_600_000;
const MINUTES_MS = 60_000;
/** Time in which etcd is read again, and the password of root is compared with its Secret. */
const LOOKED_AGAIN_MS = 12 * MINUTES_MS;

function wrongUsers(of: Certified): string | undefined {
  const { wrong, hindrance } = usersVerdict(of.world, of.cluster);
  const condition = of.condition("AuthReady");
  const isSaid = condition?.status === "True";
  return (
    of.wrong() ??
    wrong ??
    hindrance ??
    (isSaid ? undefined : `AuthReady is ${condition?.status}: ${condition?.message}`)
  );
}

async function untilAsked(of: Certified, mostMs = LOOKED_AGAIN_MS): Promise<string | undefined> {
  const endMs = of.world.time.nowMs + mostMs;
  while (wrongUsers(of) !== undefined && of.world.time.nowMs < endMs) await of.forMs(10_000);
  return wrongUsers(of);
}

/** Changes users as root with etcdctl. */
function byHand(of: Certified, change: AuthChange): void {
  of.world.etcd.changeAuth(of.leader(), change, "person");
}

async function asked(enabled: boolean): Promise<Certified> {
  const of = await certified({}, { auth: enabled });
  const wrong = await untilAsked(of);
  if (wrong !== undefined) throw new Error(`the cluster did not come up: ${wrong}`);
  return of;
}

/** Auth is enabled, disabled and enabled again. The operator crashes after every write. */
export const authSwitchIsLostInCrash: Story = async () => {
  const of = await asked(false);
  const changes = () =>
    of.events.filter((event) => event.is === "usersChanged" || (event.is === "write" && event.resource === SECRETS))
      .length;
  let deaths = 0;
  // Every call takes time, so that there is a moment between any two writes.
  of.world.calls.faults = { ...NO_CALL_FAULTS, late: 1 };
  for (const enabled of [true, false, true]) {
    of.edit({ auth: { enabled } });
    for (let looks = 0; looks < 30; looks++) {
      const seen = changes();
      for (let turns = 0; turns < 20 && changes() === seen; turns++) await of.forMs(20);
      if (changes() === seen) continue;
      of.world.crashOperator();
      deaths += 1;
      await of.forMs(100);
      of.world.startOperator();
    }
    const wrong = await untilAsked(of);
    if (wrong !== undefined) return `spec.auth.enabled is ${enabled}: ${wrong}`;
  }
  return deaths < 5 ? `the operator crashed only ${deaths} times` : undefined;
};

/**
 * A person deletes the operator's user, or revokes its role, while its clock is hours wrong in either direction. The
 * operator restores both.
 */
export const wrongClockLocksOut: Story = async () => {
  const given: readonly [number, AuthChange][] = [
    [-2 * HOUR_MS, { do: "userDelete", user: OPERATOR }],
    [2 * HOUR_MS, { do: "revokeRole", user: OPERATOR, role: ROOT }],
  ];
  for (const [skewMs, change] of given) {
    const of = await asked(true);
    of.world.time.skewMs = skewMs;
    byHand(of, change);
    await of.forMs(2 * MINUTES_MS);
    const wrong = await untilAsked(of);
    if (wrong !== undefined) return `${change.do}, ${skewMs / HOUR_MS} h: ${wrong}`;
  }
  return undefined;
};

/**
 * root's Secret is deleted or edited, or its password is changed with etcdctl. root gets the password of its Secret,
 * without restarts.
 */
export const rootPasswordStaysLost: Story = async () => {
  const of = await asked(true);
  const before = of.restarts().length;
  const secret = () => of.secret("root");
  const losses: Readonly<Record<string, () => void>> = {
    deleted: () => of.world.api.delete("person", SECRETS, { namespace: NAMESPACE, name: `${CLUSTER}-root` }),
    edited: () => of.write("root", (data) => ({ ...data, password: btoa("of a person") })),
    "by hand": () => byHand(of, { do: "changePassword", user: ROOT, password: "by hand" }),
  };
  for (const [how, lose] of Object.entries(losses)) {
    lose();
    await of.forMs(2 * MINUTES_MS);
    const wrong = await untilAsked(of);
    if (wrong !== undefined) return `${how}: ${wrong}`;
    const password = atob(secret()?.data?.password ?? "");
    if (usersOf(of.world, of.cluster)?.users.get(ROOT)?.password !== password)
      return `${how}: root has another password`;
  }
  return of.restarts().length > before ? `members were restarted: ${of.restarts()}` : undefined;
};

/** Users that people made with etcdctl stay unchanged while auth is enabled and disabled. */
export const foreignUsersAreChanged: Story = async () => {
  const of = await asked(false);
  for (const change of [
    { do: "roleAdd", role: "theirs" },
    { do: "userAdd", user: "theirs", password: "theirs" },
    { do: "grantRole", user: "theirs", role: "theirs" },
  ] as const)
    byHand(of, change);
  for (const enabled of [true, false, true]) {
    of.edit({ auth: { enabled } });
    const wrong = await untilAsked(of);
    if (wrong !== undefined) return wrong;
    const theirs = usersOf(of.world, of.cluster)?.users.get("theirs");
    if (theirs?.password !== "theirs" || theirs.roles.size !== 1) return `${enabled}: the user of a person is changed`;
  }
  return undefined;
};

/**
 * A person writes an invalid password into root's Secret. A new member still joins, and the status reports the Secret.
 */
export const invalidRootSecretBlocksScaleUp: Story = async () => {
  const of = await asked(true);
  of.write("root", (data) => ({ ...data, password: "" }));
  await of.forMs(2 * MINUTES_MS);
  const { reason } = of.condition("Ready") ?? {};
  if (reason !== "RootSecretInvalid") return `Ready has reason ${reason}`;
  of.edit({ replicas: 4 });
  await of.forMs(3 * MINUTES_MS);
  return of.world.etcd.processes.size === 4 ? of.broken[0] : `${of.world.etcd.processes.size} of 4 members run`;
};
