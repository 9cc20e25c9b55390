import { expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, userLook } from "#kit/snapshots/access.ts";
import { born, NOW } from "#kit/snapshots/cluster.ts";
import { stepsIn, testJudged } from "#kit/tables/judged-kinds.ts";
import type { Certificate } from "#kube/kinds.ts";
import { bindingWish } from "#user/desired/binding.ts";
import { bindingRequest } from "#user/desired/request.ts";
import { USER_GUARDS } from "#user/guards.ts";
import type { BindingFacts, UserSnapshot } from "#user/snapshot.ts";
import type { UserStep } from "#user/step.ts";

const name = "app";
const look = userLook;
const wish = bindingWish(look({ bound: null }))!;
const wishing = (pair: typeof wish.pair): UserStep => ({ do: "writeBinding", wish: { ...wish, pair } });
const from = {} as BindingFacts;
const repeating = (password: typeof wish.password, pair: typeof wish.pair): UserStep => ({
  do: "writeBinding",
  wish: { ...wish, password, pair },
});
const claim: UserStep = { do: "claimUser", name, clusterID: "" };
const write = wishing("issue");
const ask: UserStep = { do: "requestCertificate", request: bindingRequest(look().user, etcdOf()) };
const add: UserStep = { do: "addUser", name, from };
const addBare: UserStep = { do: "addUser", name, from: undefined };
const set: UserStep = { do: "setPassword", name, from };
const grant: UserStep = { do: "grantRole", name, role: "reader" };
const revoke: UserStep = { do: "revokeRole", name, role: "reader" };
const remove: UserStep = { do: "deleteUser", name };
const hold: UserStep = { do: "holdUser" };
const release: UserStep = { do: "releaseUser" };
const IN_ETCD = [add, addBare, set, grant, revoke, remove];
const going = { deleting: true };
const theirs = { bound: { ownerUid: "other" } };
const certificate = (uid: string) =>
  present(
    born<Certificate>({
      ...bindingRequest(look().user, etcdOf()),
      metadata: { name: "app-binding-tls", ownerReferences: [{ controller: true, uid } as never] },
    }),
  );

type Case = readonly [string, UserSnapshot, UserStep, "allowed" | "forbidden"];
const each = (steps: readonly UserStep[], text: string, given: UserSnapshot, is: Case[3]): readonly Case[] =>
  steps.map((step) => [`${step.do} ${text}`, given, step, is]);

const cases: Record<string, readonly Case[]> = {
  "own-only": [
    ...each(IN_ETCD, "for its own user", look(), "allowed"),
    ...each(IN_ETCD, "for a user that the status does not claim", look({ claimed: false }), "forbidden"),
    ...each(IN_ETCD, "for a user claimed in an earlier etcd", look({ claimed: "elsewhere" }), "forbidden"),
    ...each(IN_ETCD, "for a user of an older EtcdUser", look({ with: { elder: "other" } }), "forbidden"),
    ...each([hold, release, claim, write, ask], "for any user", look({ claimed: false }), "allowed"),
  ],
  "claim-is-asked": [
    ["claimUser for a user that is not in etcd", look({ with: { found: absent } }), claim, "allowed"],
    ["claimUser for an existing user", look(), claim, "forbidden"],
    ["claimUser for an existing user with spec.takeOver", look({ spec: { takeOver: true } }), claim, "allowed"],
    ["claimUser with spec.takeOver when the user could not be read", look({ spec: { takeOver: true }, with: { found: unknown("silent") } }), claim, "forbidden"],
    ["claimUser for a user of an older EtcdUser", look({ with: { elder: "other", found: absent } }), claim, "forbidden"],
    ...each([...IN_ETCD, hold, release, write, ask], "for a user of an older EtcdUser", look({ with: { elder: "other" } }), "allowed"),
  ],
  "not-the-operator": [
    ...each([...IN_ETCD, claim], "for an application", look(), "allowed"),
    ...each([add, set, grant, revoke, claim], "for the operator's user", look({ with: { operatorName: name } }), "forbidden"),
    ...each([add, set, grant, revoke, claim], "for the operator's future user", look({ cluster: etcdOf({}, { status: { auth: { enabled: true, operators: [name] } } }) }), "forbidden"),
    ["deleteUser for the operator's user", look({ with: { operatorName: name, found: present(["root"]) } }), remove, "forbidden"],
    ["deleteUser for a user with the operator's name that could not be read", look({ with: { operatorName: name, found: unknown("silent") } }), remove, "forbidden"],
    ["deleteUser for a user with the operator's name and without role root", look({ with: { operatorName: name } }), remove, "allowed"],
    ...each([hold, release, write, ask], "for the operator's user", look({ with: { operatorName: name } }), "allowed"),
  ],
  "held-first": [
    ...each([add, set, grant, revoke, claim, write, ask], "with a finalizer", look(), "allowed"),
    ...each([add, set, grant, revoke, claim, write, ask], "without a finalizer", look({ held: false }), "forbidden"),
    ...each([add, set, grant, revoke, claim, write, ask, hold], "while the EtcdUser is being deleted", look(going), "forbidden"),
    ...each([hold, remove, release], "without a finalizer", look({ held: false }), "allowed"),
    ["writeBinding with the same credentials and without a finalizer", look({ held: false }), repeating("keep", "keep"), "allowed"],
    ["writeBinding without credentials and without a finalizer", look({ held: false, bound: { hasPassword: false }, pair: null }), repeating("none", "none"), "allowed"],
    ["writeBinding that removes the password without a finalizer", look({ held: false }), repeating("none", "keep"), "forbidden"],
    ["writeBinding that removes the certificate without a finalizer", look({ held: false }), repeating("keep", "none"), "forbidden"],
    ["writeBinding that keeps a missing password without a finalizer", look({ held: false, bound: { hasPassword: false } }), repeating("keep", "keep"), "forbidden"],
    ["writeBinding that keeps a missing certificate without a finalizer", look({ held: false, pair: null }), repeating("keep", "keep"), "forbidden"],
    ["writeBinding with a new password and without a finalizer", look({ held: false }), repeating("new", "keep"), "forbidden"],
    ["writeBinding with a new certificate and without a finalizer", look({ held: false }), repeating("keep", "issue"), "forbidden"],
    ["writeBinding with a copied certificate and without a finalizer", look({ held: false }), repeating("keep", "copy"), "forbidden"],
    ["writeBinding that creates the Secret without a finalizer", look({ held: false, bound: null }), repeating("keep", "keep"), "forbidden"],
    ["writeBinding into another owner's Secret without a finalizer", look({ held: false, ...theirs }), repeating("keep", "keep"), "forbidden"],
    ["requestCertificate without a finalizer", look({ held: false }), ask, "forbidden"],
    ["writeBinding with the same credentials while the EtcdUser is being deleted", look(going), repeating("keep", "keep"), "forbidden"],
    ...each([remove, release], "while the EtcdUser is being deleted", look(going), "allowed"),
  ],
  "deletion-is-asked": [
    ...each([remove, release], "while the EtcdUser is being deleted", look(going), "allowed"),
    ...each([remove, release], "while the EtcdUser is not being deleted", look(), "forbidden"),
    ["deleteUser for a user that has no password in etcd", look({ with: { password: present("none") } }), remove, "allowed"],
    ["releaseUser for a user that has no password in etcd", look({ with: { password: present("none") } }), release, "forbidden"],
    ["deleteUser for a user with a password that could not be checked", look({ with: { password: unknown("silent") } }), remove, "forbidden"],
    ...each([add, set, grant, revoke, claim, write, ask, hold], "while the EtcdUser is not being deleted", look(), "allowed"),
  ],
  "place-is-ready": [
    ...each([...IN_ETCD, write, ask], "for a cluster that serves", look(), "allowed"),
    ...each([...IN_ETCD, write, ask], "for a paused cluster", look({ cluster: etcdOf({}, { spec: { paused: true } }) }), "forbidden"),
    ...each([...IN_ETCD, write, ask], "without a cluster", look({ cluster: undefined }), "forbidden"),
    ...each([hold, release, claim], "without a cluster", look({ cluster: undefined }), "allowed"),
  ],
  "own-objects": [
    ...each([write, add, addBare, set], "with its own Secret", look(), "allowed"),
    ...each([write, add, addBare, set], "without a Secret", look({ bound: null }), "allowed"),
    ...each([write, add, set], "with a Secret of another owner", look(theirs), "forbidden"),
    ...each([addBare, grant, revoke, remove, hold, release, claim], "that does not use another owner's Secret", look(theirs), "allowed"),
    ["requestCertificate for the first time", look(), ask, "allowed"],
    ["requestCertificate for the first time when the Secret has another owner", look({ with: { isIssuedTaken: true } }), ask, "forbidden"],
    ["requestCertificate for an own Certificate when the Secret has another owner", look({ with: { isIssuedTaken: true, request: certificate("uid-of-app") } }), ask, "allowed"],
    ["requestCertificate for an own Certificate", look({ with: { request: certificate("uid-of-app") } }), ask, "allowed"],
    ["requestCertificate for a Certificate of another owner", look({ with: { request: certificate("other") } }), ask, "forbidden"],
  ],
  "trusted-first": [
    ...each([wishing("issue"), wishing("copy")], "from a CA that all members trust", look(), "allowed"),
    ...each([wishing("issue"), wishing("copy")], "from a CA that a member does not trust", look({ with: { doubters: ["my-etcd-0"] } }), "forbidden"),
    ...each([wishing("keep"), wishing("none"), add, ask], "without a new certificate", look({ with: { doubters: ["my-etcd-0"] } }), "allowed"),
    ...each([wishing("issue"), wishing("copy")], "for the first binding", look({ bound: null, with: { doubters: ["my-etcd-0"] } }), "allowed"),
    ...each([wishing("issue"), wishing("copy")], "for the first certificate", look({ pair: null, with: { doubters: ["my-etcd-0"] } }), "allowed"),
    ...each([wishing("issue"), wishing("copy")], "just before the certificate expires", look({ pair: { notAfterMs: NOW + 1 }, with: { doubters: ["my-etcd-0"] } }), "forbidden"),
    ...each([wishing("issue"), wishing("copy")], "for an expired certificate", look({ pair: { notAfterMs: NOW }, with: { doubters: ["my-etcd-0"] } }), "allowed"),
    ...each([wishing("issue")], "for an unusable certificate", look({ pair: { trouble: "t" }, with: { doubters: ["my-etcd-0"] } }), "allowed"),
  ],
}; // biome-ignore format: a table

const all = Object.entries(cases).flatMap(([guard, rows]) => rows.map((row) => [guard, ...row] as const));

test.each(all)("user guard %s: %s is $4", (guard, _, given, step, is) => {
  const why = USER_GUARDS.find((each) => each.name === guard)?.forbids(given, step);
  expect(why === undefined ? "allowed" : "forbidden").toBe(is);
});

test("every user guard has its cases", () => {
  expect(Object.keys(cases)).toEqual(USER_GUARDS.map((guard) => guard.name));
});

/** Which guards judge which kind of step: every other guard permits it whatever the snapshot is. */
const JUDGED_BY: Readonly<Record<UserStep["do"], readonly string[]>> = {
  holdUser: ["held-first"],
  releaseUser: ["deletion-is-asked"],
  claimUser: ["claim-is-asked", "not-the-operator", "held-first"],
  requestCertificate: ["held-first", "place-is-ready", "own-objects"],
  writeBinding: ["held-first", "place-is-ready", "own-objects", "trusted-first"],
  addUser: ["own-only", "not-the-operator", "held-first", "place-is-ready", "own-objects"],
  setPassword: ["own-only", "not-the-operator", "held-first", "place-is-ready", "own-objects"],
  grantRole: ["own-only", "not-the-operator", "held-first", "place-is-ready"],
  revokeRole: ["own-only", "not-the-operator", "held-first", "place-is-ready"],
  deleteUser: ["own-only", "not-the-operator", "deletion-is-asked", "place-is-ready"],
};

const judgements = all.map(([guard, , given, step, is]) => ({ guard, given, step, is }));

testJudged(USER_GUARDS, stepsIn(judgements), JUDGED_BY, judgements);
