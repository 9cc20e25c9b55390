import { templateIn } from "#api/revision.ts";
import { unknown } from "#base/observed.ts";
import { revisedPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import {
  guarded,
  LOCKED,
  movingTo,
  NO_USERS,
  OPERATOR_USER,
  PREPARED,
  ROOT_SECRET,
  withAuth,
} from "#kit/snapshots/cluster-auth.ts";
import {
  asking,
  asksClients,
  bornSpeaking,
  certified,
  peerOf,
  STEPS,
  settled,
  speaking,
  unasking,
} from "#kit/snapshots/cluster-steps.ts";
import { type GuardCase, promised } from "#kit/tables/guard-promises.ts";
import * as guards from "./guards.ts";

const { enableAuth, disableAuth, setRootPassword, createRootSecret, addUser, grantRole } = STEPS;

const prepared = guarded({ state: PREPARED });

function showing(snapshot: ClusterSnapshot, before: string, secretName: string): ClusterStep {
  const live = peerOf(snapshot, "my-etcd-0");
  const { tls: _, ...template } = templateIn(live.spec);
  const tlsOf = (name: string) => ({ ...live.spec.tls!, client: { ...live.spec.tls!.client!, secretName: name } });
  const was = { ...live, spec: { ...live.spec, tls: tlsOf(before) } };
  return { do: "replacePeer", live: was, peer: revisedPeer(was, { ...template, tls: tlsOf(secretName) }, undefined) };
}

/** The first member verifies clients, and may serve plain HTTP as well. */
function servesBoth(snapshot: ClusterSnapshot, plaintext: boolean): ClusterStep {
  const { client, ...others } = peerOf(snapshot, "my-etcd-0").spec.tls!;
  return speaking(snapshot, { ...others, client: { ...client!, plaintext } });
}

const servingBoth: ClusterSnapshot = {
  ...certified,
  peers: certified.peers.map((peer) => {
    const { client, ...others } = peer.spec.tls!;
    return { ...peer, spec: { ...peer.spec, tls: { ...others, client: { ...client!, plaintext: true } } } };
  }),
};

const moving = (snapshot: ClusterSnapshot) => showing(snapshot, "my-etcd-server-tls", "theirs");
const hasMoved = (snapshot: ClusterSnapshot) => showing(snapshot, "theirs", "theirs");
const movingBack = (snapshot: ClusterSnapshot) => showing(snapshot, "theirs", "my-etcd-server-tls");

promised(guards, {
  "auth-is-asked": [
    { name: "authentication is switched on when the spec has true", given: prepared, step: enableAuth, is: "allowed" },
    {
      name: "it is not switched on when the spec has no value",
      given: guarded({ wanted: undefined }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "it is not switched on when the spec has false",
      given: guarded({ wanted: false }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "it is switched off when the spec has false",
      given: guarded({ wanted: false }),
      step: disableAuth,
      is: "allowed",
    },
    { name: "it is not switched off when the spec has true", given: guarded(), step: disableAuth, is: "forbidden" },
    {
      name: "it is not switched off when the spec has no value",
      given: guarded({ wanted: undefined }),
      step: disableAuth,
      is: "forbidden",
    },
    {
      name: "a missing Secret is created",
      given: guarded({ secret: undefined }),
      step: createRootSecret,
      is: "allowed",
    },
    { name: "an existing Secret is not created again", given: guarded(), step: createRootSecret, is: "forbidden" },
    {
      name: "no Secret is created when the spec has false",
      given: guarded({ wanted: false, secret: undefined }),
      step: createRootSecret,
      is: "forbidden",
    },
    { name: "root gets the password of its Secret", given: guarded(), step: setRootPassword, is: "allowed" },
    {
      name: "root does not get the password of a foreign Secret",
      given: guarded(),
      step: { ...setRootPassword, secret: { ...ROOT_SECRET, trouble: "it is not this cluster's" } },
      is: "forbidden",
    },
    {
      name: "root gets no password when the spec has false",
      given: guarded({ wanted: false }),
      step: setRootPassword,
      is: "forbidden",
    },
    { name: "the operator gets a user", given: guarded(), step: addUser, is: "allowed" },
    { name: "no other user is added", given: guarded(), step: { ...addUser, user: "bob" }, is: "forbidden" },
    {
      name: "root is not added without a password",
      given: guarded({ user: "root" }),
      step: { ...addUser, user: "root" },
      is: "forbidden",
    },
    {
      name: "no user without a name is added",
      given: guarded({ user: "" }),
      step: { ...addUser, user: "" },
      is: "forbidden",
    },
    { name: "the operator gets the role", given: guarded(), step: grantRole, is: "allowed" },
    { name: "root gets the role", given: guarded(), step: { ...grantRole, user: "root" }, is: "allowed" },
    { name: "no other user gets the role", given: guarded(), step: { ...grantRole, user: "bob" }, is: "forbidden" },
    ...([addUser, grantRole] as const).flatMap((step): readonly GuardCase[] => [
      {
        name: `${step.do}: the next user of the operator is allowed`,
        given: guarded({ next: "bob", operators: ["bob"] }),
        step: { ...step, user: "bob" },
        is: "allowed",
      },
      {
        name: `${step.do}: a next user that is not recorded is refused`,
        given: guarded({ next: "bob" }),
        step: { ...step, user: "bob" },
        is: "forbidden",
      },
      {
        name: `${step.do}: an application's user is refused`,
        given: guarded({ next: "bob", operators: ["bob"], holders: { bob: "app" } }),
        step: { ...step, user: "bob" },
        is: "forbidden",
      },
      {
        name: `${step.do}: the operator's user is refused while it belongs to an application`,
        given: guarded({ holders: { [OPERATOR_USER]: "app" } }),
        step,
        is: "forbidden",
      },
      {
        name: `${step.do}: every user is refused while etcd does not answer`,
        given: guarded({ state: unknown("no answer") }),
        step,
        is: "forbidden",
      },
    ]),
    {
      name: "no role is granted when the spec has no value",
      given: guarded({ wanted: undefined }),
      step: grantRole,
      is: "forbidden",
    },
    { name: "other steps are ignored", given: settled, step: STEPS.addLearner, is: "allowed" },
  ],
  "administrator-first": [
    { name: "allowed when the operator and root are administrators", given: prepared, step: enableAuth, is: "allowed" },
    {
      name: "refused when the operator lacks the role",
      given: guarded({ state: { ...PREPARED, operator: ["reader"] } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused when the operator has no user",
      given: guarded({ state: { ...PREPARED, operator: undefined } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused when root lacks the role",
      given: guarded({ state: { ...PREPARED, root: [] } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused when etcd has no root",
      given: guarded({ state: { ...PREPARED, root: undefined } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused when root has a different password than the Secret",
      given: guarded({ state: { ...PREPARED, isRootsPassword: false } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused while etcd does not answer",
      given: guarded({ state: { is: "unknown", why: "no answer" } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused before users were observed",
      given: asking(certified, { auth: { enabled: true } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused when the operator's certificate has no common name",
      given: guarded({ state: PREPARED, user: "" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused when the operator's certificate has the name root",
      given: guarded({ state: PREPARED, user: "root" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused when the operator's certificate could not be read",
      given: guarded({ state: PREPARED, user: undefined }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused when the next user lacks the role",
      given: guarded({ state: { ...PREPARED, next: [] }, next: "bob" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "allowed when the next user has the role",
      given: guarded({ state: { ...PREPARED, next: ["root"] }, next: "bob" }),
      step: enableAuth,
      is: "allowed",
    },
    {
      name: "refused when members do not verify clients",
      given: withAuth(unasking, { state: PREPARED }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused when the spec no longer requires client certificates, although members still do",
      given: withAuth(asking(certified, { tls: unasking.cluster.spec.tls }), { state: PREPARED }),
      step: enableAuth,
      is: "forbidden",
    },
    { name: "refused without TLS", given: withAuth(settled, { state: PREPARED }), step: enableAuth, is: "forbidden" },
    {
      name: "refused while a member does not verify clients, whatever the spec has",
      given: withAuth(asking(unasking, { tls: certified.cluster.spec.tls }), { state: PREPARED }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "refused while a pod runs an older template",
      given: { ...prepared, pods: settled.pods },
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "switching authentication off has no such conditions",
      given: guarded({ wanted: false, state: NO_USERS }),
      step: disableAuth,
      is: "allowed",
    },
  ],
  "login-stays": [
    {
      name: "members go on verifying clients",
      given: guarded({ recorded: true }),
      step: asksClients(certified, true),
      is: "allowed",
    },
    {
      name: "no member stops verifying clients while authentication is on",
      given: guarded({ recorded: true }),
      step: asksClients(certified, false),
      is: "forbidden",
    },
    {
      name: "no member drops TLS while authentication is on",
      given: guarded({ recorded: true }),
      step: speaking(certified, undefined),
      is: "forbidden",
    },
    {
      name: "no member is created without TLS while authentication is on",
      given: guarded({ recorded: true }),
      step: bornSpeaking(certified, undefined),
      is: "forbidden",
    },
    {
      name: "no member stops verifying when etcd has authentication that is not recorded yet",
      given: guarded({ recorded: false }),
      step: asksClients(certified, false),
      is: "forbidden",
    },
    {
      name: "no member stops verifying when authentication is recorded and etcd does not answer",
      given: guarded({ recorded: true, state: unknown("no answer") }),
      step: asksClients(certified, false),
      is: "forbidden",
    },
    {
      name: "no member starts to serve plain HTTP as well",
      given: guarded({ recorded: true }),
      step: servesBoth(certified, true),
      is: "forbidden",
    },
    {
      name: "a member that serves plain HTTP may go on",
      given: guarded({ recorded: true }),
      step: servesBoth(servingBoth, true),
      is: "allowed",
    },
    {
      name: "a member that serves plain HTTP may stop",
      given: guarded({ recorded: true }),
      step: servesBoth(servingBoth, false),
      is: "allowed",
    },
    {
      name: "a member may stop verifying clients while authentication is off",
      given: guarded({ recorded: false, state: PREPARED }),
      step: asksClients(certified, false),
      is: "allowed",
    },
    {
      name: "a member may stop verifying clients when authentication never was requested",
      given: certified,
      step: asksClients(certified, false),
      is: "allowed",
    },
    {
      name: "a member that did not verify clients before need not",
      given: withAuth(unasking, { recorded: true }),
      step: asksClients(unasking, false),
      is: "allowed",
    },
    {
      name: "no member moves to a CA for which the operator has no user",
      given: movingTo({ next: "bob" }),
      step: moving(movingTo({ next: "bob" })),
      is: "forbidden",
    },
    {
      name: "no member moves to it, also when its user has only other roles",
      given: movingTo({ next: "bob", state: { ...LOCKED, next: ["reader"] } }),
      step: moving(movingTo({ next: "bob" })),
      is: "forbidden",
    },
    {
      name: "a member moves to a CA for which the operator is an administrator",
      given: movingTo({ next: "bob", state: { ...LOCKED, next: ["root"] } }),
      step: moving(movingTo({ next: "bob" })),
      is: "allowed",
    },
    {
      name: "a member with an unchanged Secret may change otherwise",
      given: movingTo({ next: "bob" }),
      step: asksClients(certified, true),
      is: "allowed",
    },
    {
      name: "a member that has moved already may change",
      given: movingTo({ next: "bob" }),
      step: hasMoved(movingTo({ next: "bob" })),
      is: "allowed",
    },
    {
      name: "a member may move back",
      given: movingTo({ next: "bob" }),
      step: movingBack(movingTo({ next: "bob" })),
      is: "allowed",
    },
    {
      name: "steps about no member are ignored",
      given: guarded({ recorded: true }),
      step: enableAuth,
      is: "allowed",
    },
  ],
});
