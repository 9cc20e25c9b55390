import { templateIn } from "#api/revision.ts";
import { unknown } from "#base/observed.ts";
import { revisedPeer } from "#cluster/members/desired/peer.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { begin } from "#kit/snapshots/begin.ts";
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
    {
      name: "authentication may be switched on when spec.auth.enabled is true",
      given: prepared,
      step: enableAuth,
      is: "allowed",
    },
    {
      name: "authentication is not switched on when spec.auth is unset",
      given: guarded({ wanted: undefined }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on when spec.auth.enabled is false",
      given: guarded({ wanted: false }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication may be switched off when spec.auth.enabled is false",
      given: guarded({ wanted: false }),
      step: disableAuth,
      is: "allowed",
    },
    {
      name: "authentication is not switched off when spec.auth.enabled is true",
      given: guarded(),
      step: disableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched off when spec.auth is unset",
      given: guarded({ wanted: undefined }),
      step: disableAuth,
      is: "forbidden",
    },
    {
      name: "a missing Secret of root may be created",
      given: guarded({ secret: undefined }),
      step: createRootSecret,
      is: "allowed",
    },
    {
      name: "an existing Secret of root is not created again",
      given: guarded(),
      step: createRootSecret,
      is: "forbidden",
    },
    {
      name: "no Secret of root is created when spec.auth.enabled is false",
      given: guarded({ wanted: false, secret: undefined }),
      step: createRootSecret,
      is: "forbidden",
    },
    { name: "root may get the password of its Secret", given: guarded(), step: setRootPassword, is: "allowed" },
    {
      name: "root does not get the password of another owner's Secret",
      given: guarded(),
      step: { ...setRootPassword, secret: { ...ROOT_SECRET, trouble: "it is not this cluster's" } },
      is: "forbidden",
    },
    {
      name: "root gets no password when spec.auth.enabled is false",
      given: guarded({ wanted: false }),
      step: setRootPassword,
      is: "forbidden",
    },
    { name: "a user with the operator's name may be added", given: guarded(), step: addUser, is: "allowed" },
    {
      name: "no user with another name is added",
      given: guarded(),
      step: { ...addUser, user: "bob" },
      is: "forbidden",
    },
    {
      name: "root is not added without a password",
      given: guarded({ user: "root" }),
      step: { ...addUser, user: "root" },
      is: "forbidden",
    },
    {
      name: "no user with an empty name is added",
      given: guarded({ user: "" }),
      step: { ...addUser, user: "" },
      is: "forbidden",
    },
    { name: "the operator's user may get the root role", given: guarded(), step: grantRole, is: "allowed" },
    { name: "root may get the root role", given: guarded(), step: { ...grantRole, user: "root" }, is: "allowed" },
    {
      name: "no other user gets the root role",
      given: guarded(),
      step: { ...grantRole, user: "bob" },
      is: "forbidden",
    },
    ...([addUser, grantRole] as const).flatMap((step): readonly GuardCase[] => [
      {
        name: `${step.do} is allowed for the operator's recorded next user`,
        given: guarded({ next: "bob", operators: ["bob"] }),
        step: { ...step, user: "bob" },
        is: "allowed",
      },
      {
        name: `${step.do} is refused for the operator's next user before it is recorded`,
        given: guarded({ next: "bob" }),
        step: { ...step, user: "bob" },
        is: "forbidden",
      },
      {
        name: `${step.do} is refused for a next user that belongs to an EtcdUser`,
        given: guarded({ next: "bob", operators: ["bob"], holders: { bob: "app" } }),
        step: { ...step, user: "bob" },
        is: "forbidden",
      },
      {
        name: `${step.do} is refused for the operator's user while it belongs to an EtcdUser`,
        given: guarded({ holders: { [OPERATOR_USER]: "app" } }),
        step,
        is: "forbidden",
      },
      {
        name: `${step.do} is refused for every user while etcd does not answer`,
        given: guarded({ state: unknown("no answer") }),
        step,
        is: "forbidden",
      },
    ]),
    {
      name: "no role is granted when spec.auth is unset",
      given: guarded({ wanted: undefined }),
      step: grantRole,
      is: "forbidden",
    },
    { name: "the guard does not apply to other steps", given: settled, step: STEPS.addLearner, is: "allowed" },
  ],
  "administrator-first": [
    {
      name: "authentication may be switched on when the operator and root are administrators",
      given: prepared,
      step: enableAuth,
      is: "allowed",
    },
    {
      name: "authentication is not switched on when the operator's user lacks the root role",
      given: guarded({ state: { ...PREPARED, operator: ["reader"] } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on when the operator has no user",
      given: guarded({ state: { ...PREPARED, operator: undefined } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on when root lacks the root role",
      given: guarded({ state: { ...PREPARED, root: [] } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on when etcd has no root user",
      given: guarded({ state: { ...PREPARED, root: undefined } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on when root's password is not the Secret's",
      given: guarded({ state: { ...PREPARED, isRootsPassword: false } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on while etcd does not answer",
      given: guarded({ state: { is: "unknown", why: "no answer" } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on before etcd's users were read",
      given: asking(certified, { auth: { enabled: true } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on when the operator's certificate has no common name",
      given: guarded({ state: PREPARED, user: "" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on when the operator's certificate has the common name root",
      given: guarded({ state: PREPARED, user: "root" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on when the operator's certificate could not be read",
      given: guarded({ state: PREPARED, user: undefined }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on when the operator's next user lacks the root role",
      given: guarded({ state: { ...PREPARED, next: [] }, next: "bob" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication may be switched on when the operator's next user has the root role",
      given: guarded({ state: { ...PREPARED, next: ["root"] }, next: "bob" }),
      step: enableAuth,
      is: "allowed",
    },
    {
      name: "authentication is not switched on when neither spec nor members require client certificates",
      given: withAuth(unasking, { state: PREPARED }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on when the spec no longer requires client certificates",
      given: begin(certified).apply(asking, { tls: unasking.cluster.spec.tls }).apply(withAuth, { state: PREPARED })
        .snapshot,
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on without TLS",
      given: withAuth(settled, { state: PREPARED }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on while members do not require client certificates yet",
      given: begin(unasking).apply(asking, { tls: certified.cluster.spec.tls }).apply(withAuth, { state: PREPARED })
        .snapshot,
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "authentication is not switched on while a pod runs an older template",
      given: { ...prepared, pods: settled.pods },
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "the guard does not apply to switching authentication off",
      given: guarded({ wanted: false, state: NO_USERS }),
      step: disableAuth,
      is: "allowed",
    },
  ],
  "login-stays": [
    {
      name: "a member may continue to verify clients",
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
      name: "no member stops verifying clients when authentication is on and not recorded yet",
      given: guarded({ recorded: false }),
      step: asksClients(certified, false),
      is: "forbidden",
    },
    {
      name: "no member stops verifying clients when authentication is recorded and etcd does not answer",
      given: guarded({ recorded: true, state: unknown("no answer") }),
      step: asksClients(certified, false),
      is: "forbidden",
    },
    {
      name: "no member starts to serve plain HTTP while authentication is on",
      given: guarded({ recorded: true }),
      step: servesBoth(certified, true),
      is: "forbidden",
    },
    {
      name: "a member that serves plain HTTP may continue to",
      given: guarded({ recorded: true }),
      step: servesBoth(servingBoth, true),
      is: "allowed",
    },
    {
      name: "a member that serves plain HTTP may stop serving it",
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
      name: "a member that did not verify clients before may continue so",
      given: withAuth(unasking, { recorded: true }),
      step: asksClients(unasking, false),
      is: "allowed",
    },
    {
      name: "no member changes to a server Secret when the operator's next certificate has no user in etcd",
      given: movingTo({ next: "bob" }),
      step: moving(movingTo({ next: "bob" })),
      is: "forbidden",
    },
    {
      name: "no member changes to a server Secret when the operator's next user has only other roles",
      given: movingTo({ next: "bob", state: { ...LOCKED, next: ["reader"] } }),
      step: moving(movingTo({ next: "bob" })),
      is: "forbidden",
    },
    {
      name: "a member may change to a server Secret when the operator's next user is an administrator",
      given: movingTo({ next: "bob", state: { ...LOCKED, next: ["root"] } }),
      step: moving(movingTo({ next: "bob" })),
      is: "allowed",
    },
    {
      name: "a member with an unchanged server Secret may change otherwise",
      given: movingTo({ next: "bob" }),
      step: asksClients(certified, true),
      is: "allowed",
    },
    {
      name: "a member that has the wanted server Secret already may change otherwise",
      given: movingTo({ next: "bob" }),
      step: hasMoved(movingTo({ next: "bob" })),
      is: "allowed",
    },
    {
      name: "a member may change back to its previous server Secret",
      given: movingTo({ next: "bob" }),
      step: movingBack(movingTo({ next: "bob" })),
      is: "allowed",
    },
    {
      name: "the guard does not apply to steps without an EtcdPeer",
      given: guarded({ recorded: true }),
      step: enableAuth,
      is: "allowed",
    },
  ],
});
