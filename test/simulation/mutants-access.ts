import { bindingName } from "#api/names.ts";
import { ETCD_USERS, type EtcdUser } from "#api/v1beta1/user.ts";
import { textIn } from "#certificates/facts.ts";
import type { RoleController, UserController } from "#kit/world/access-controllers.ts";
import type { ApiServer } from "#kit/world/api.ts";
import type { KubeClient } from "#kube/client.ts";
import { SECRETS } from "#kube/kinds.ts";
import { ROLE_GUARDS } from "#role/guards.ts";
import { ROLE_RULES } from "#role/plan.ts";
import { decide } from "#runtime/decide.ts";
import { USER_GUARDS } from "#user/guards.ts";
import { USER_RULES } from "#user/plan.ts";
import { FORMED } from "./leanings.ts";
import type { Mutant } from "./mutant.ts";
import type { Leaning } from "./profile.ts";

// Mutants of the rules for EtcdRoles and EtcdUsers.

const LIFE = { provider: "Operator", duration: "12h", renewBefore: "4h" } as const;
const MADE: Leaning = {
  ...FORMED,
  replicas: 1,
  hasAccess: true,
  tls: { peer: LIFE, client: LIFE },
  auth: true,
  steps: 150,
  often: { putAccess: 10 },
};
/** People also use etcdctl, and spoil Secrets. */
const BY_HAND: Leaning = { ...MADE, often: { putAccess: 10, editAccessByHand: 8, editBinding: 4 } };

const withoutRoleRule =
  (...names: readonly string[]) =>
  (real: RoleController): RoleController => ({
    ...real,
    plan: (snapshot, resting) =>
      decide(
        ROLE_RULES.filter(({ name }) => !names.includes(name)),
        ROLE_GUARDS.filter(({ name }) => !names.includes(name)),
        snapshot,
        resting,
      ),
  });

const withoutUserRule =
  (...names: readonly string[]) =>
  (real: UserController): UserController => ({
    ...real,
    plan: (snapshot, resting) =>
      decide(
        USER_RULES.filter(({ name }) => !names.includes(name)),
        USER_GUARDS.filter(({ name }) => !names.includes(name)),
        snapshot,
        resting,
      ),
  });

/** Publishes the password of an application in a condition. */
function talkative(real: KubeClient, api: ApiServer): KubeClient {
  return {
    ...real,
    replace: (resource, draft, options) => {
      const { metadata, status } = draft as unknown as EtcdUser;
      const secret = api.list(SECRETS).find((each) => each.metadata.name === bindingName(metadata.name));
      if (resource.kind !== ETCD_USERS.kind || secret === undefined) return real.replace(resource, draft, options);
      const conditions = status?.conditions?.map((each) => ({ ...each, message: textIn(secret, "password") }));
      return real.replace(resource, { ...draft, status: { ...status, conditions } } as never, options);
    },
  } as KubeClient;
}

const rolesLeft = ["release-role", "delete-role", "hold-role", "claim-role", "add-role", "grant-permission"];
const usersLeft = ["release-user", "delete-user", "claim-user", "add-user", "grant-role"];

export const ACCESS_MUTANTS: readonly Mutant[] = [
  ...rolesLeft.map((name) => ({
    name: `without role rule ${name}`,
    parts: { role: withoutRoleRule(name) },
    leaning: MADE,
  })),
  { name: "without role rule revoke-permission", parts: { role: withoutRoleRule("revoke-permission") }, leaning: MADE },
  ...usersLeft.map((name) => ({
    name: `without user rule ${name}`,
    parts: { user: withoutUserRule(name) },
    leaning: MADE,
  })),
  { name: "without user rule set-password", parts: { user: withoutUserRule("set-password") }, leaning: BY_HAND },
  {
    name: "without role rule name-taken + without role guard claim-is-asked",
    promise: "people's users stay",
    parts: { role: withoutRoleRule("name-taken", "claim-is-asked") },
    leaning: BY_HAND,
  },
  {
    name: "without user rule name-taken + without user guard claim-is-asked",
    promise: "people's users stay",
    parts: { user: withoutUserRule("name-taken", "claim-is-asked") },
    leaning: BY_HAND,
  },
  {
    name: "users get a role that no EtcdUser has",
    promise: "grants follow objects",
    parts: {
      user: (real) => ({
        ...real,
        act: (step, snapshot, signal) =>
          real.act(step.do === "grantRole" ? { ...step, role: "root" } : step, snapshot, signal),
      }),
    },
    leaning: MADE,
  },
  {
    name: "an EtcdUser is released while its user is in etcd",
    promise: "revoked first",
    parts: {
      user: (real) => ({
        ...real,
        plan: (snapshot, resting) => {
          const plan = real.plan(snapshot, resting);
          return plan.next === "step" && plan.step.do === "deleteUser"
            ? { ...plan, step: { do: "releaseUser" } }
            : plan;
        },
      }),
    },
    leaning: { ...MADE, steps: 150 },
  },
  {
    name: "a condition contains an application's password",
    promise: "passwords stay in Secrets",
    parts: { kube: talkative },
    leaning: MADE,
  },
];
