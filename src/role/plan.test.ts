import { expect, test } from "vitest";
import { wantedPermissions } from "#access/permissions.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, type GivenRole, roleLook } from "#kit/access.ts";
import { planText } from "#kit/plan-text.ts";
import { planRole, ROLE_RULES } from "#role/plan.ts";
import type { RoleSnapshot } from "#role/snapshot.ts";
import { roleStatus } from "#role/status.ts";
import { type RoleStep, targetTextOf } from "#role/step.ts";

const stepText = (step: RoleStep) => `${step.do} ${targetTextOf(step)}`.trim();
const orders = wantedPermissions([{ access: "Read", prefix: "orders/" }]);
const also = wantedPermissions([{ access: "Write", key: "a" }]);
const rewritten = wantedPermissions([{ access: "ReadWrite", prefix: "orders/" }]);
const look = roleLook;
const going: GivenRole = { deleting: true };
const ASLEEP = etcdOf({}, { spec: { replicas: 0 } });
const PAUSED = etcdOf({}, { spec: { paused: true } });
const FORMING = etcdOf({}, { status: { members: [] } });
const NAMELESS = etcdOf({}, { status: { identity: undefined } });
const GOING = etcdOf({}, { metadata: { deletionTimestamp: "2026-01-01T12:00:00Z" } });

const cases: readonly { name: string; given: RoleSnapshot; expect: string; says?: string }[] = [
  { name: "all is done", given: look(), expect: "settled", says: "True Granted" },
  { name: "while auth is not enabled, that is told", given: look({ access: present({ enabled: false }) }), expect: "settled", says: "True AuthDisabled" },
  { name: "nothing is made without a finalizer", given: look({ held: false, claimed: false, found: absent }), expect: "hold-role: holdRole", says: "False Applying" },
  { name: "that it is this object's is on record first", given: look({ claimed: false, found: absent }), expect: "claim-role: claimRole reader" },
  { name: "then it is made", given: look({ found: absent }), expect: "add-role: addRole reader" },
  { name: "by the name of the spec", given: look({ spec: { roleName: "r" }, found: absent }), expect: "add-role: addRole r" },
  { name: "what it lacks is granted", given: look({ found: present([]) }), expect: 'grant-permission: grantPermission reader READ ["orders/", "orders0")' },
  { name: "one with another access is replaced", given: look({ found: present(rewritten) }), expect: 'grant-permission: grantPermission reader READ ["orders/", "orders0")' },
  { name: "it is granted before anything is revoked", given: look({ found: present(also) }), expect: 'grant-permission: grantPermission reader READ ["orders/", "orders0")' },
  { name: "what it has beyond the spec is revoked", given: look({ found: present([...orders, ...also]) }), expect: 'revoke-permission: revokePermission reader "a"' },
  { name: "all of it, when the spec says none", given: look({ spec: { permissions: [] }, found: present(also) }), expect: 'revoke-permission: revokePermission reader "a"' },
  { name: "what somebody else has made is left alone", given: look({ claimed: false }), expect: "warn: name-taken", says: "False NameTaken" },
  { name: "so is what it has made in an etcd that was here before", given: look({ claimed: "elsewhere" }), expect: "warn: name-taken", says: "False NameTaken" },
  { name: "where it makes another one", given: look({ claimed: "elsewhere", found: absent }), expect: "claim-role: claimRole reader" },
  { name: "unless it is to be taken over", given: look({ claimed: false, spec: { takeOver: true } }), expect: "claim-role: claimRole reader" },
  { name: "of two objects the older one has it", given: look({ elder: "other" }), expect: "warn: name-taken", says: "False NameTaken" },
  { name: "whatever there is in etcd", given: look({ elder: "other", claimed: false, found: absent, spec: { takeOver: true } }), expect: "warn: name-taken" },
  { name: "without a cluster nothing is done", given: look({ cluster: undefined, access: absent, found: absent }), expect: "wait: await-cluster", says: "False ClusterNotFound" },
  { name: "nor in one that has not formed", given: look({ cluster: FORMING, access: absent, found: absent }), expect: "wait: await-cluster", says: "False ClusterNotReady" },
  { name: "nor in one without an identity", given: look({ cluster: NAMELESS, access: absent, found: absent }), expect: "wait: await-cluster", says: "False ClusterNotReady" },
  { name: "nor in one that sleeps", given: look({ cluster: ASLEEP, access: absent, found: absent }), expect: "wait: await-cluster", says: "False ClusterNotReady" },
  { name: "nor in one that is being deleted", given: look({ cluster: GOING, access: absent, found: absent }), expect: "wait: await-cluster", says: "False ClusterNotReady" },
  { name: "nor in one that is paused", given: look({ cluster: PAUSED, access: absent, found: absent }), expect: "wait: await-cluster", says: "False Paused" },
  { name: "nor while etcd is silent", given: look({ access: unknown("silent"), found: unknown("silent") }), expect: "wait: await-etcd", says: "Unknown EtcdUnreachable" },
  { name: "whatever is known of the role", given: look({ access: unknown("silent"), found: absent }), expect: "wait: await-etcd" },
  { name: "or silent about the role", given: look({ found: unknown("silent") }), expect: "wait: await-etcd", says: "Unknown EtcdUnreachable" },
  { name: "its role goes with it", given: look(going), expect: "delete-role: deleteRole reader", says: "False Deleting" },
  { name: "and then it may go", given: look({ ...going, found: absent }), expect: "release-role: releaseRole", says: "False Deleting" },
  { name: "while etcd is silent it stays", given: look({ ...going, access: unknown("silent"), found: unknown("silent") }), expect: "wait: await-etcd", says: "False Deleting" },
  { name: "while etcd was not asked it stays, too", given: look({ ...going, cluster: PAUSED, access: absent, found: absent }), expect: "wait: await-cluster", says: "False Deleting" },
  { name: "with its cluster it goes at once", given: look({ ...going, cluster: undefined, access: absent, found: absent }), expect: "release-role: releaseRole" },
  { name: "and with one that is being deleted", given: look({ ...going, cluster: GOING, access: absent, found: absent }), expect: "release-role: releaseRole" },
  { name: "while its cluster has yet to form, perhaps of the data in which it was made, it stays", given: look({ ...going, cluster: NAMELESS, access: absent, found: absent }), expect: "wait: await-cluster", says: "False Deleting" },
  { name: "one that has made nothing goes at once", given: look({ ...going, claimed: false }), expect: "release-role: releaseRole" },
  { name: "so does one that has made it in an etcd that was here before", given: look({ ...going, claimed: "elsewhere" }), expect: "release-role: releaseRole" },
  { name: "one whose name is another one's, too", given: look({ ...going, elder: "other" }), expect: "release-role: releaseRole" },
  { name: "what others hold is left to them", given: look({ ...going, held: false }), expect: "settled", says: "False Deleting" },
]; // biome-ignore format: a table

test.each(cases)("role: $name", ({ given, expect: expected, says }) => {
  const plan = planRole(given);
  expect(planText(plan, stepText)).toBe(expected);
  const [ready] = roleStatus(given, plan).conditions ?? [];
  if (says !== undefined) expect(`${ready?.status} ${ready?.reason}`).toBe(says);
});

test("a case reaches each rule", () => {
  const reached = new Set(cases.map(({ expect: text }) => text.replace(/^(wait|warn): /, "").split(":")[0]));
  expect(ROLE_RULES.map(({ name }) => name).filter((name) => !reached.has(name))).toEqual([]);
});

test("where two rules have an opinion, their order decides", () => {
  const pairs: readonly (readonly [string, string, RoleSnapshot])[] = [
    ["release-role", "await-cluster", look({ ...going, cluster: undefined, access: absent, found: absent })],
    ["await-cluster", "await-etcd", look({ cluster: PAUSED, found: unknown("silent") })],
    ["await-etcd", "delete-role", look({ ...going, found: unknown("silent") })],
    ["delete-role", "grant-permission", look({ ...going, found: present(also) })],
    ["name-taken", "hold-role", look({ claimed: false, held: false })],
    ["hold-role", "claim-role", look({ claimed: false, held: false, found: absent })],
    ["claim-role", "add-role", look({ claimed: false, found: absent })],
    ["grant-permission", "revoke-permission", look({ found: present(also) })],
  ];
  for (const [first, second, snapshot] of pairs) {
    const having = ROLE_RULES.filter((rule) => rule.decide(snapshot) !== undefined).map(({ name }) => name);
    expect(having).toEqual(expect.arrayContaining([first, second]));
    expect(having[0]).toBe(first);
  }
});

test("the messages name what they are about", () => {
  const said = (given: RoleSnapshot) => roleStatus(given, planRole(given)).conditions?.[0]?.message;
  expect(said(look())).toBe("role reader has just the permissions of the spec");
  expect(said(look({ access: present({ enabled: false }) }))).toContain("auth is not enabled in etcd");
  expect(said(look({ cluster: undefined }))).toBe("there is no EtcdCluster my-etcd");
  expect(said(look({ cluster: FORMING }))).toBe("EtcdCluster my-etcd has not formed yet");
  expect(said(look({ cluster: ASLEEP }))).toContain("EtcdCluster my-etcd sleeps");
  expect(said(look({ cluster: PAUSED }))).toBe("EtcdCluster my-etcd is paused: spec.paused is true");
  expect(said(look({ elder: "other" }))).toBe("role reader is EtcdRole other's, which is older");
  expect(said(look({ claimed: false }))).toContain("with spec.takeOver: true it becomes this one's");
  expect(said(look({ found: unknown("no answer") }))).toBe("etcd could not be asked: no answer");
  expect(said(look({ ...going, held: false }))).toBe("the role in etcd is gone");
  expect(said(look(going))).toBe("role reader is deleted in etcd with its EtcdRole");
  expect(said(look({ claimed: false, found: absent }))).toBe("role reader is about to be made");
  expect(said(look({ claimed: false, spec: { takeOver: true } }))).toBe("role reader is about to be taken over");
});

test("a status says what it said before of what was claimed, and for which generation", () => {
  const snapshot = look();
  expect(roleStatus(snapshot, planRole(snapshot))).toMatchObject({ roleName: "reader", observedGeneration: 1 });
  expect(roleStatus(look({ claimed: false }), planRole(look({ claimed: false })))).not.toHaveProperty("roleName");
});
