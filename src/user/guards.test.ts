import { expect, test } from "vitest";
import { absent, present, unknown } from "#base/observed.ts";
import { etcdOf, userLook } from "#kit/access.ts";
import { born, NOW } from "#kit/cluster.ts";
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
    ...each(IN_ETCD, "of one's own", look(), "allowed"),
    ...each(IN_ETCD, "that is not on record", look({ claimed: false }), "forbidden"),
    ...each(IN_ETCD, "that was made in an etcd of before", look({ claimed: "elsewhere" }), "forbidden"),
    ...each(IN_ETCD, "that an older object has", look({ with: { elder: "other" } }), "forbidden"),
    ...each([hold, release, claim, write, ask], "changes nothing in etcd", look({ claimed: false }), "allowed"),
  ],
  "claim-is-asked": [
    ["what is not there", look({ with: { found: absent } }), claim, "allowed"],
    ["what is there", look(), claim, "forbidden"],
    ["what is to be taken over", look({ spec: { takeOver: true } }), claim, "allowed"],
    ["what could not be looked at", look({ spec: { takeOver: true }, with: { found: unknown("silent") } }), claim, "forbidden"],
    ["what an older object has", look({ with: { elder: "other", found: absent } }), claim, "forbidden"],
    ...each([...IN_ETCD, hold, release, write, ask], "is no claim", look({ with: { elder: "other" } }), "allowed"),
  ],
  "not-the-operator": [
    ...each([...IN_ETCD, claim], "of an application", look(), "allowed"),
    ...each([add, set, grant, revoke, claim], "of the operator", look({ with: { operatorName: name } }), "forbidden"),
    ...each([add, set, grant, revoke, claim], "of what the operator is about to be", look({ cluster: etcdOf({}, { status: { auth: { enabled: true, operators: [name] } } }) }), "forbidden"),
    ["deleteUser of the operator", look({ with: { operatorName: name, found: present(["root"]) } }), remove, "forbidden"],
    ["deleteUser of what may be the operator", look({ with: { operatorName: name, found: unknown("silent") } }), remove, "forbidden"],
    ["deleteUser of who gets nobody in", look({ with: { operatorName: name } }), remove, "allowed"],
    ...each([hold, release, write, ask], "changes nothing in etcd", look({ with: { operatorName: name } }), "allowed"),
  ],
  "held-first": [
    ...each([add, set, grant, revoke, claim, write, ask], "with a finalizer", look(), "allowed"),
    ...each([add, set, grant, revoke, claim, write, ask], "without one", look({ held: false }), "forbidden"),
    ...each([add, set, grant, revoke, claim, write, ask, hold], "of one that goes", look(going), "forbidden"),
    ...each([hold, remove, release], "without one", look({ held: false }), "allowed"),
    ["writing a binding anew without one", look({ held: false }), repeating("keep", "keep"), "allowed"],
    ["writing one anew that has nothing", look({ held: false, bound: { hasPassword: false }, pair: null }), repeating("none", "none"), "allowed"],
    ["taking its password out without one", look({ held: false }), repeating("none", "keep"), "forbidden"],
    ["taking its certificate out without one", look({ held: false }), repeating("keep", "none"), "forbidden"],
    ["keeping a password that it has not", look({ held: false, bound: { hasPassword: false } }), repeating("keep", "keep"), "forbidden"],
    ["keeping a certificate that it has not", look({ held: false, pair: null }), repeating("keep", "keep"), "forbidden"],
    ["a new password without one", look({ held: false }), repeating("new", "keep"), "forbidden"],
    ["a new certificate without one", look({ held: false }), repeating("keep", "issue"), "forbidden"],
    ["another certificate without one", look({ held: false }), repeating("keep", "copy"), "forbidden"],
    ["the first binding without one", look({ held: false, bound: null }), repeating("keep", "keep"), "forbidden"],
    ["somebody else's binding without one", look({ held: false, ...theirs }), repeating("keep", "keep"), "forbidden"],
    ["asking for a certificate without one", look({ held: false }), ask, "forbidden"],
    ["writing a binding anew of one that goes", look(going), repeating("keep", "keep"), "forbidden"],
    ...each([remove, release], "of one that goes", look(going), "allowed"),
  ],
  "deletion-is-asked": [
    ...each([remove, release], "of one that goes", look(going), "allowed"),
    ...each([remove, release], "of one that stays", look(), "forbidden"),
    ["deleting one that cannot get a password", look({ with: { password: present("none") } }), remove, "allowed"],
    ["releasing that", look({ with: { password: present("none") } }), release, "forbidden"],
    ["deleting one of which that is not known", look({ with: { password: unknown("silent") } }), remove, "forbidden"],
    ...each([add, set, grant, revoke, claim, write, ask, hold], "deletes nothing", look(), "allowed"),
  ],
  "place-is-ready": [
    ...each([...IN_ETCD, write, ask], "of a cluster that serves", look(), "allowed"),
    ...each([...IN_ETCD, write, ask], "of one that is paused", look({ cluster: etcdOf({}, { spec: { paused: true } }) }), "forbidden"),
    ...each([...IN_ETCD, write, ask], "of none", look({ cluster: undefined }), "forbidden"),
    ...each([hold, release, claim], "of none", look({ cluster: undefined }), "allowed"),
  ],
  "own-objects": [
    ...each([write, add, addBare, set], "with one's own Secret", look(), "allowed"),
    ...each([write, add, addBare, set], "with none", look({ bound: null }), "allowed"),
    ...each([write, add, set], "with somebody else's", look(theirs), "forbidden"),
    ...each([addBare, grant, revoke, remove, hold, release, claim], "without it", look(theirs), "allowed"),
    ["asking for the first time", look(), ask, "allowed"],
    ["asking where somebody else has the Secret", look({ with: { isIssuedTaken: true } }), ask, "forbidden"],
    ["asking again where somebody else has it", look({ with: { isIssuedTaken: true, request: certificate("uid-of-app") } }), ask, "allowed"],
    ["asking again", look({ with: { request: certificate("uid-of-app") } }), ask, "allowed"],
    ["asking by what somebody else has made", look({ with: { request: certificate("other") } }), ask, "forbidden"],
  ],
  "trusted-first": [
    ...each([wishing("issue"), wishing("copy")], "that all believe", look(), "allowed"),
    ...each([wishing("issue"), wishing("copy")], "that some do not", look({ with: { doubters: ["my-etcd-0"] } }), "forbidden"),
    ...each([wishing("keep"), wishing("none"), add, ask], "is no new one", look({ with: { doubters: ["my-etcd-0"] } }), "allowed"),
    ...each([wishing("issue"), wishing("copy")], "for the first time", look({ bound: null, with: { doubters: ["my-etcd-0"] } }), "allowed"),
    ...each([wishing("issue"), wishing("copy")], "for the first certificate", look({ pair: null, with: { doubters: ["my-etcd-0"] } }), "allowed"),
    ...each([wishing("issue"), wishing("copy")], "a moment before its end", look({ pair: { notAfterMs: NOW + 1 }, with: { doubters: ["my-etcd-0"] } }), "forbidden"),
    ...each([wishing("issue"), wishing("copy")], "for one that has ended", look({ pair: { notAfterMs: NOW }, with: { doubters: ["my-etcd-0"] } }), "allowed"),
    ...each([wishing("issue")], "for one that is of no use", look({ pair: { trouble: "t" }, with: { doubters: ["my-etcd-0"] } }), "allowed"),
  ],
}; // biome-ignore format: a table

const all = Object.entries(cases).flatMap(([guard, rows]) => rows.map((row) => [guard, ...row] as const));

test.each(all)("%s: %s", (guard, _, given, step, is) => {
  const why = USER_GUARDS.find((each) => each.name === guard)?.forbids(given, step);
  expect(why === undefined ? "allowed" : "forbidden").toBe(is);
});

test("every guard has its cases", () => {
  expect(Object.keys(cases)).toEqual(USER_GUARDS.map((guard) => guard.name));
});
