import { expect, test } from "vitest";
import { wantedPermissions } from "#access/permissions.ts";
import { absent, unknown } from "#base/observed.ts";
import { etcdOf, roleLook } from "#kit/snapshots/access.ts";
import { stepsIn, testJudged } from "#kit/tables/judged-kinds.ts";
import { ROLE_GUARDS } from "#role/guards.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import type { RoleStep } from "#role/step.ts";

const name = "reader";
const [permission] = wantedPermissions([{ access: "Read", key: "a" }]);
const look = roleLook;
const claim: RoleStep = { do: "claimRole", name, clusterID: "" };
const add: RoleStep = { do: "addRole", name };
const grant: RoleStep = { do: "grantPermission", name, permission: permission! };
const revoke: RoleStep = { do: "revokePermission", name, range: permission! };
const remove: RoleStep = { do: "deleteRole", name };
const hold: RoleStep = { do: "holdRole" };
const release: RoleStep = { do: "releaseRole" };
const IN_ETCD = [add, grant, revoke, remove];
const going = { deleting: true };

type Case = readonly [string, RoleSnapshot, RoleStep, "allowed" | "forbidden"];
const each = (steps: readonly RoleStep[], text: string, given: RoleSnapshot, is: Case[3]): readonly Case[] =>
  steps.map((step) => [`${step.do} ${text}`, given, step, is]);

const cases: Record<string, readonly Case[]> = {
  "own-only": [
    ...each(IN_ETCD, "for its own role", look(), "allowed"),
    ...each(IN_ETCD, "for a role that the status does not claim", look({ claimed: false }), "forbidden"),
    ...each(IN_ETCD, "for a role claimed in an earlier etcd", look({ claimed: "elsewhere" }), "forbidden"),
    ...each(IN_ETCD, "for a role of an older EtcdRole", look({ elder: "other" }), "forbidden"),
    ...each([hold, release, claim], "for any role", look({ claimed: false, elder: "other" }), "allowed"),
  ],
  "claim-is-asked": [
    ["claimRole for a role that is not in etcd", look({ found: absent }), claim, "allowed"],
    ["claimRole for an existing role", look(), claim, "forbidden"],
    ["claimRole for an existing role with spec.takeOver", look({ spec: { takeOver: true } }), claim, "allowed"],
    [
      "claimRole with spec.takeOver when the role could not be read",
      look({ spec: { takeOver: true }, found: unknown("silent") }),
      claim,
      "forbidden",
    ],
    ["claimRole for a role of an older EtcdRole", look({ elder: "other", found: absent }), claim, "forbidden"],
    ...each([...IN_ETCD, hold, release], "for a role of an older EtcdRole", look({ elder: "other" }), "allowed"),
  ],
  "held-first": [
    ...each([add, grant, revoke, claim], "with a finalizer", look(), "allowed"),
    ...each([add, grant, revoke, claim], "without a finalizer", look({ held: false }), "forbidden"),
    ...each([add, grant, revoke, claim, hold], "while the EtcdRole is being deleted", look(going), "forbidden"),
    ...each([hold, remove, release], "without a finalizer", look({ held: false }), "allowed"),
    ...each([remove, release], "while the EtcdRole is being deleted", look(going), "allowed"),
  ],
  "deletion-is-asked": [
    ...each([remove, release], "while the EtcdRole is being deleted", look(going), "allowed"),
    ...each([remove, release], "while the EtcdRole is not being deleted", look(), "forbidden"),
    ...each([add, grant, revoke, claim, hold], "while the EtcdRole is not being deleted", look(), "allowed"),
  ],
  "place-is-ready": [
    ...each(IN_ETCD, "for a cluster that serves", look(), "allowed"),
    ...each(IN_ETCD, "for a paused cluster", look({ cluster: etcdOf({}, { spec: { paused: true } }) }), "forbidden"),
    ...each(IN_ETCD, "without a cluster", look({ cluster: undefined }), "forbidden"),
    ...each([hold, release, claim], "without a cluster", look({ cluster: undefined }), "allowed"),
  ],
};

const all = Object.entries(cases).flatMap(([guard, rows]) => rows.map((row) => [guard, ...row] as const));

test.each(all)("role guard %s: %s is $4", (guard, _, given, step, is) => {
  const why = ROLE_GUARDS.find((each) => each.name === guard)?.forbids(given, step);
  expect(why === undefined ? "allowed" : "forbidden").toBe(is);
});

test("every role guard has its cases", () => {
  expect(Object.keys(cases)).toEqual(ROLE_GUARDS.map((guard) => guard.name));
});

/** Which guards judge which kind of step: every other guard permits it whatever the snapshot is. */
const JUDGED_BY: Readonly<Record<RoleStep["do"], readonly string[]>> = {
  holdRole: ["held-first"],
  releaseRole: ["deletion-is-asked"],
  claimRole: ["claim-is-asked", "held-first"],
  addRole: ["own-only", "held-first", "place-is-ready"],
  grantPermission: ["own-only", "held-first", "place-is-ready"],
  revokePermission: ["own-only", "held-first", "place-is-ready"],
  deleteRole: ["own-only", "deletion-is-asked", "place-is-ready"],
};

const judgements = all.map(([guard, , given, step, is]) => ({ guard, given, step, is }));

testJudged(ROLE_GUARDS, stepsIn(judgements), JUDGED_BY, judgements);
