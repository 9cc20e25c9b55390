import { expect, test } from "vitest";
import { wantedPermissions } from "#access/permissions.ts";
import { absent, unknown } from "#base/observed.ts";
import { etcdOf, roleLook } from "#kit/access.ts";
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
    ...each(IN_ETCD, "of one's own", look(), "allowed"),
    ...each(IN_ETCD, "that is not on record", look({ claimed: false }), "forbidden"),
    ...each(IN_ETCD, "that was made in an etcd of before", look({ claimed: "elsewhere" }), "forbidden"),
    ...each(IN_ETCD, "that an older object has", look({ elder: "other" }), "forbidden"),
    ...each([hold, release, claim], "changes nothing in etcd", look({ claimed: false, elder: "other" }), "allowed"),
  ],
  "claim-is-asked": [
    ["what is not there", look({ found: absent }), claim, "allowed"],
    ["what is there", look(), claim, "forbidden"],
    ["what is to be taken over", look({ spec: { takeOver: true } }), claim, "allowed"],
    ["what could not be looked at", look({ spec: { takeOver: true }, found: unknown("silent") }), claim, "forbidden"],
    ["what an older object has", look({ elder: "other", found: absent }), claim, "forbidden"],
    ...each([...IN_ETCD, hold, release], "is no claim", look({ elder: "other" }), "allowed"),
  ],
  "held-first": [
    ...each([add, grant, revoke, claim], "with a finalizer", look(), "allowed"),
    ...each([add, grant, revoke, claim], "without one", look({ held: false }), "forbidden"),
    ...each([add, grant, revoke, claim, hold], "of one that goes", look(going), "forbidden"),
    ...each([hold, remove, release], "without one", look({ held: false }), "allowed"),
    ...each([remove, release], "of one that goes", look(going), "allowed"),
  ],
  "deletion-is-asked": [
    ...each([remove, release], "of one that goes", look(going), "allowed"),
    ...each([remove, release], "of one that stays", look(), "forbidden"),
    ...each([add, grant, revoke, claim, hold], "deletes nothing", look(), "allowed"),
  ],
  "place-is-ready": [
    ...each(IN_ETCD, "of a cluster that serves", look(), "allowed"),
    ...each(IN_ETCD, "of one that is paused", look({ cluster: etcdOf({}, { spec: { paused: true } }) }), "forbidden"),
    ...each(IN_ETCD, "of none", look({ cluster: undefined }), "forbidden"),
    ...each([hold, release, claim], "of none", look({ cluster: undefined }), "allowed"),
  ],
};

const all = Object.entries(cases).flatMap(([guard, rows]) => rows.map((row) => [guard, ...row] as const));

test.each(all)("%s: %s", (guard, _, given, step, is) => {
  const why = ROLE_GUARDS.find((each) => each.name === guard)?.forbids(given, step);
  expect(why === undefined ? "allowed" : "forbidden").toBe(is);
});

test("every guard has its cases", () => {
  expect(Object.keys(cases)).toEqual(ROLE_GUARDS.map((guard) => guard.name));
});
