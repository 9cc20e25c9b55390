import { expect, test } from "vitest";
import { wantedPermissions } from "#access/permissions.ts";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, type GivenRole, roleLook } from "#kit/snapshots/access.ts";
import { planText } from "#kit/tables/plan-text.ts";
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

const cases: readonly { name: string; given: RoleSnapshot; expect: string; shows?: string }[] = [
  { name: "an up-to-date role is settled", given: look(), expect: "settled", shows: "True Granted" },
  { name: "the status reports that auth is not enabled", given: look({ access: present({ enabled: false }) }), expect: "settled", shows: "True AuthDisabled" },
  { name: "the finalizer is set first", given: look({ held: false, claimed: false, found: absent }), expect: "hold-role: holdRole", shows: "False Applying" },
  { name: "the status claims the role before it is created", given: look({ claimed: false, found: absent }), expect: "claim-role: claimRole reader" },
  { name: "the claimed role is created", given: look({ found: absent }), expect: "add-role: addRole reader" },
  { name: "the role is created with spec.roleName", given: look({ spec: { roleName: "r" }, found: absent }), expect: "add-role: addRole r" },
  { name: "a missing permission is granted", given: look({ found: present([]) }), expect: 'grant-permission: grantPermission reader READ ["orders/", "orders0")' },
  { name: "a permission with another access is replaced", given: look({ found: present(rewritten) }), expect: 'grant-permission: grantPermission reader READ ["orders/", "orders0")' },
  { name: "missing permissions are granted before others are revoked", given: look({ found: present(also) }), expect: 'grant-permission: grantPermission reader READ ["orders/", "orders0")' },
  { name: "a permission that is not in the spec is revoked", given: look({ found: present([...orders, ...also]) }), expect: 'revoke-permission: revokePermission reader "a"' },
  { name: "all permissions are revoked when the spec has none", given: look({ spec: { permissions: [] }, found: present(also) }), expect: 'revoke-permission: revokePermission reader "a"' },
  { name: "an existing role that is not claimed is not changed", given: look({ claimed: false }), expect: "warn: name-taken", shows: "False NameTaken" },
  { name: "a role claimed in an earlier etcd cluster is not changed", given: look({ claimed: "elsewhere" }), expect: "warn: name-taken", shows: "False NameTaken" },
  { name: "a role claimed in an earlier etcd cluster is claimed again when it does not exist", given: look({ claimed: "elsewhere", found: absent }), expect: "claim-role: claimRole reader" },
  { name: "an existing role is claimed with spec.takeOver", given: look({ claimed: false, spec: { takeOver: true } }), expect: "claim-role: claimRole reader" },
  { name: "the younger of two EtcdRoles is refused the name", given: look({ elder: "other" }), expect: "warn: name-taken", shows: "False NameTaken" },
  { name: "the younger of two EtcdRoles is refused the name, even with spec.takeOver", given: look({ elder: "other", claimed: false, found: absent, spec: { takeOver: true } }), expect: "warn: name-taken" },
  { name: "the plan waits for a cluster that does not exist", given: look({ cluster: undefined, access: absent, found: absent }), expect: "wait: await-cluster", shows: "False ClusterNotFound" },
  { name: "the plan waits for a cluster that has not formed", given: look({ cluster: FORMING, access: absent, found: absent }), expect: "wait: await-cluster", shows: "False ClusterNotReady" },
  { name: "the plan waits for a cluster without an identity", given: look({ cluster: NAMELESS, access: absent, found: absent }), expect: "wait: await-cluster", shows: "False ClusterNotReady" },
  { name: "the plan waits for a cluster that sleeps", given: look({ cluster: ASLEEP, access: absent, found: absent }), expect: "wait: await-cluster", shows: "False ClusterNotReady" },
  { name: "the plan waits for a cluster that is being deleted", given: look({ cluster: GOING, access: absent, found: absent }), expect: "wait: await-cluster", shows: "False ClusterNotReady" },
  { name: "the plan waits for a paused cluster", given: look({ cluster: PAUSED, access: absent, found: absent }), expect: "wait: await-cluster", shows: "False Paused" },
  { name: "the plan waits while etcd does not answer", given: look({ access: unknown("silent"), found: unknown("silent") }), expect: "wait: await-etcd", shows: "Unknown EtcdUnreachable" },
  { name: "the plan waits when etcd has answered only some requests", given: look({ access: unknown("silent"), found: absent }), expect: "wait: await-etcd" },
  { name: "the plan waits when the role could not be read from etcd", given: look({ found: unknown("silent") }), expect: "wait: await-etcd", shows: "Unknown EtcdUnreachable" },
  { name: "deletion: the role is deleted in etcd", given: look(going), expect: "delete-role: deleteRole reader", shows: "False Deleting" },
  { name: "deletion: the finalizer is removed when the role is deleted in etcd", given: look({ ...going, found: absent }), expect: "release-role: releaseRole", shows: "False Deleting" },
  { name: "deletion: the EtcdRole stays while etcd does not answer", given: look({ ...going, access: unknown("silent"), found: unknown("silent") }), expect: "wait: await-etcd", shows: "False Deleting" },
  { name: "deletion: the EtcdRole stays while the cluster is paused", given: look({ ...going, cluster: PAUSED, access: absent, found: absent }), expect: "wait: await-cluster", shows: "False Deleting" },
  { name: "deletion: the finalizer is removed when the cluster does not exist", given: look({ ...going, cluster: undefined, access: absent, found: absent }), expect: "release-role: releaseRole" },
  { name: "deletion: the finalizer is removed when the cluster is being deleted", given: look({ ...going, cluster: GOING, access: absent, found: absent }), expect: "release-role: releaseRole" },
  { name: "deletion: the EtcdRole stays while its cluster may form again with the role's data", given: look({ ...going, cluster: NAMELESS, access: absent, found: absent }), expect: "wait: await-cluster", shows: "False Deleting" },
  { name: "deletion: the finalizer is removed when no role was created", given: look({ ...going, claimed: false }), expect: "release-role: releaseRole" },
  { name: "deletion: the finalizer is removed when the role was claimed in an earlier etcd cluster", given: look({ ...going, claimed: "elsewhere" }), expect: "release-role: releaseRole" },
  { name: "deletion: the finalizer is removed when an older EtcdRole has the name", given: look({ ...going, elder: "other" }), expect: "release-role: releaseRole" },
  { name: "deletion: an EtcdRole with only other finalizers is not changed", given: look({ ...going, held: false }), expect: "settled", shows: "False Deleting" },
]; // biome-ignore format: a table

test.each(cases)("role: $name", ({ given, expect: expected, shows }) => {
  const plan = planRole(given);
  expect(planText(plan, stepText)).toBe(expected);
  const [ready] = roleStatus(given, plan).conditions ?? [];
  if (shows !== undefined) expect(`${ready?.status} ${ready?.reason}`).toBe(shows);
});

test("every rule of the role plan decides a case", () => {
  const reached = new Set(cases.map(({ expect: text }) => text.replace(/^(wait|warn): /, "").split(":")[0]));
  expect(ROLE_RULES.map(({ name }) => name).filter((name) => !reached.has(name))).toEqual([]);
});

test("the first of two applicable rules of the role plan decides", () => {
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

test("the role plan's messages name the role or the EtcdCluster", () => {
  const said = (given: RoleSnapshot) => roleStatus(given, planRole(given)).conditions?.[0]?.message;
  expect(said(look())).toBe("role reader has just the permissions of the spec");
  expect(said(look({ access: present({ enabled: false }) }))).toContain("auth is not enabled in etcd");
  expect(said(look({ cluster: undefined }))).toBe("EtcdCluster my-etcd does not exist");
  expect(said(look({ cluster: FORMING }))).toBe("EtcdCluster my-etcd has not formed yet");
  expect(said(look({ cluster: ASLEEP }))).toContain("EtcdCluster my-etcd sleeps");
  expect(said(look({ cluster: PAUSED }))).toBe("EtcdCluster my-etcd is paused: spec.paused is true");
  expect(said(look({ elder: "other" }))).toBe("role reader belongs to EtcdRole other, which is older");
  expect(said(look({ claimed: false }))).toContain("set spec.takeOver to true to take it over");
  expect(said(look({ found: unknown("no answer") }))).toBe("etcd's users and roles could not be read: no answer");
  expect(said(look({ ...going, held: false }))).toBe("the role is deleted in etcd");
  expect(said(look(going))).toBe("role reader is deleted in etcd with its EtcdRole");
  expect(said(look({ claimed: false, found: absent }))).toBe("role reader is about to be created");
  expect(said(look({ claimed: false, spec: { takeOver: true } }))).toBe("role reader is about to be taken over");
});

test("a role's status keeps the claimed name and has the observed generation", () => {
  const snapshot = look();
  expect(roleStatus(snapshot, planRole(snapshot))).toMatchObject({ roleName: "reader", observedGeneration: 1 });
  expect(roleStatus(look({ claimed: false }), planRole(look({ claimed: false })))).not.toHaveProperty("roleName");
});
