import { templateIn } from "#api/revision.ts";
import { unknown } from "#base/observed.ts";
import { revisedPeer } from "#cluster/desired/peer.ts";
import * as guards from "#cluster/guards/auth.ts";
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
} from "#kit/cluster-auth.ts";
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
} from "#kit/cluster-steps.ts";
import { type GuardCase, promised } from "#kit/guard-promises.ts";

const { enableAuth, disableAuth, setRootPassword, createRootSecret, addUser, grantRole } = STEPS;

const prepared = guarded({ state: PREPARED });

function showing(snapshot: ClusterSnapshot, before: string, secretName: string): ClusterStep {
  const live = peerOf(snapshot, "my-etcd-0");
  const { tls: _, ...template } = templateIn(live.spec);
  const tlsOf = (name: string) => ({ ...live.spec.tls!, client: { ...live.spec.tls!.client!, secretName: name } });
  const was = { ...live, spec: { ...live.spec, tls: tlsOf(before) } };
  return { do: "replacePeer", live: was, peer: revisedPeer(was, { ...template, tls: tlsOf(secretName) }, undefined) };
}

/** The same member, which asks clients for certificates, and may serve others over plain HTTP besides. */
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

const goingOver = (snapshot: ClusterSnapshot) => showing(snapshot, "my-etcd-server-tls", "theirs");
const hasGoneOver = (snapshot: ClusterSnapshot) => showing(snapshot, "theirs", "theirs");
const goingBack = (snapshot: ClusterSnapshot) => showing(snapshot, "theirs", "my-etcd-server-tls");

promised(guards, {
  "auth-is-asked": [
    { name: "users are asked for where the spec says so", given: prepared, step: enableAuth, is: "allowed" },
    { name: "and not where it says nothing", given: guarded({ wanted: undefined }), step: enableAuth, is: "forbidden" },
    { name: "nor where it says no", given: guarded({ wanted: false }), step: enableAuth, is: "forbidden" },
    { name: "no more where it says no", given: guarded({ wanted: false }), step: disableAuth, is: "allowed" },
    { name: "not where it says yes", given: guarded(), step: disableAuth, is: "forbidden" },
    { name: "nor where it says nothing", given: guarded({ wanted: undefined }), step: disableAuth, is: "forbidden" },
    {
      name: "a Secret is made where there is none",
      given: guarded({ secret: undefined }),
      step: createRootSecret,
      is: "allowed",
    },
    { name: "and no second one", given: guarded(), step: createRootSecret, is: "forbidden" },
    {
      name: "nor where nobody asks for users",
      given: guarded({ wanted: false, secret: undefined }),
      step: createRootSecret,
      is: "forbidden",
    },
    { name: "root gets the password of its Secret", given: guarded(), step: setRootPassword, is: "allowed" },
    {
      name: "and of no Secret that is somebody else's",
      given: guarded(),
      step: { ...setRootPassword, secret: { ...ROOT_SECRET, trouble: "it is not this cluster's" } },
      is: "forbidden",
    },
    {
      name: "nor a password where nobody asks for users",
      given: guarded({ wanted: false }),
      step: setRootPassword,
      is: "forbidden",
    },
    { name: "the operator gets a user", given: guarded(), step: addUser, is: "allowed" },
    { name: "and nobody else", given: guarded(), step: { ...addUser, user: "bob" }, is: "forbidden" },
    {
      name: "root is not made without a password",
      given: guarded({ user: "root" }),
      step: { ...addUser, user: "root" },
      is: "forbidden",
    },
    { name: "nor one without a name", given: guarded({ user: "" }), step: { ...addUser, user: "" }, is: "forbidden" },
    { name: "the operator gets the role", given: guarded(), step: grantRole, is: "allowed" },
    { name: "so does root", given: guarded(), step: { ...grantRole, user: "root" }, is: "allowed" },
    { name: "and no third one", given: guarded(), step: { ...grantRole, user: "bob" }, is: "forbidden" },
    ...([addUser, grantRole] as const).flatMap((step): readonly GuardCase[] => [
      {
        name: `${step.do}: who it is about to be`,
        given: guarded({ next: "bob", operators: ["bob"] }),
        step: { ...step, user: "bob" },
        is: "allowed",
      },
      {
        name: `${step.do}: not before that is on record`,
        given: guarded({ next: "bob" }),
        step: { ...step, user: "bob" },
        is: "forbidden",
      },
      {
        name: `${step.do}: nor an application's`,
        given: guarded({ next: "bob", operators: ["bob"], holders: { bob: "app" } }),
        step: { ...step, user: "bob" },
        is: "forbidden",
      },
      {
        name: `${step.do}: nor its own user, when that is an application's`,
        given: guarded({ holders: { [OPERATOR_USER]: "app" } }),
        step,
        is: "forbidden",
      },
      {
        name: `${step.do}: nor by what nobody knows`,
        given: guarded({ state: unknown("no answer") }),
        step,
        is: "forbidden",
      },
    ]),
    {
      name: "nobody does where nobody asks for users",
      given: guarded({ wanted: undefined }),
      step: grantRole,
      is: "forbidden",
    },
    { name: "what is about no users is for others to judge", given: settled, step: STEPS.addLearner, is: "allowed" },
  ],
  "administrator-first": [
    { name: "where the operator and root are administrators", given: prepared, step: enableAuth, is: "allowed" },
    {
      name: "not where the operator is none",
      given: guarded({ state: { ...PREPARED, operator: ["reader"] } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor where it is no user",
      given: guarded({ state: { ...PREPARED, operator: undefined } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor where root is none",
      given: guarded({ state: { ...PREPARED, root: [] } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor where root is not there",
      given: guarded({ state: { ...PREPARED, root: undefined } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor with another password than the Secret's",
      given: guarded({ state: { ...PREPARED, isRootsPassword: false } }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor by what nobody knows",
      given: guarded({ state: { is: "unknown", why: "no answer" } }),
      step: enableAuth,
      is: "forbidden",
    },
    { name: "nor unseen", given: asking(certified, { auth: { enabled: true } }), step: enableAuth, is: "forbidden" },
    {
      name: "nor by a certificate without a name",
      given: guarded({ state: PREPARED, user: "" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor by root's name",
      given: guarded({ state: PREPARED, user: "root" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor by one that could not be read",
      given: guarded({ state: PREPARED, user: undefined }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor where who it is about to be is none",
      given: guarded({ state: { ...PREPARED, next: [] }, next: "bob" }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "but where that is one",
      given: guarded({ state: { ...PREPARED, next: ["root"] }, next: "bob" }),
      step: enableAuth,
      is: "allowed",
    },
    {
      name: "nor where clients show none",
      given: withAuth(unasking, { state: PREPARED }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor where they are to show none soon, whatever members ask by now",
      given: withAuth(asking(certified, { tls: unasking.cluster.spec.tls }), { state: PREPARED }),
      step: enableAuth,
      is: "forbidden",
    },
    { name: "nor without TLS", given: withAuth(settled, { state: PREPARED }), step: enableAuth, is: "forbidden" },
    {
      name: "nor while a member does not ask for them, whatever the spec says",
      given: withAuth(asking(unasking, { tls: certified.cluster.spec.tls }), { state: PREPARED }),
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "nor while one runs what it was made from before",
      given: { ...prepared, pods: settled.pods },
      step: enableAuth,
      is: "forbidden",
    },
    {
      name: "switching it off asks for none of that",
      given: guarded({ wanted: false, state: NO_USERS }),
      step: disableAuth,
      is: "allowed",
    },
  ],
  "login-stays": [
    {
      name: "members go on asking for certificates",
      given: guarded({ recorded: true }),
      step: asksClients(certified, true),
      is: "allowed",
    },
    {
      name: "none stops while etcd asks for users",
      given: guarded({ recorded: true }),
      step: asksClients(certified, false),
      is: "forbidden",
    },
    {
      name: "nor speaks without TLS",
      given: guarded({ recorded: true }),
      step: speaking(certified, undefined),
      is: "forbidden",
    },
    {
      name: "nor is one made so",
      given: guarded({ recorded: true }),
      step: bornSpeaking(certified, undefined),
      is: "forbidden",
    },
    {
      name: "nor does one by what etcd says, before that is on record",
      given: guarded({ recorded: false }),
      step: asksClients(certified, false),
      is: "forbidden",
    },
    {
      name: "nor does one by what is on record, while etcd cannot be asked",
      given: guarded({ recorded: true, state: unknown("no answer") }),
      step: asksClients(certified, false),
      is: "forbidden",
    },
    {
      name: "nor serves one without certificates besides",
      given: guarded({ recorded: true }),
      step: servesBoth(certified, true),
      is: "forbidden",
    },
    {
      name: "one that did may go on, until it serves none without",
      given: guarded({ recorded: true }),
      step: servesBoth(servingBoth, true),
      is: "allowed",
    },
    {
      name: "and ends to",
      given: guarded({ recorded: true }),
      step: servesBoth(servingBoth, false),
      is: "allowed",
    },
    {
      name: "one may where etcd asks for none",
      given: guarded({ recorded: false, state: PREPARED }),
      step: asksClients(certified, false),
      is: "allowed",
    },
    { name: "or nobody ever has", given: certified, step: asksClients(certified, false), is: "allowed" },
    {
      name: "who did not before need not",
      given: withAuth(unasking, { recorded: true }),
      step: asksClients(unasking, false),
      is: "allowed",
    },
    {
      name: "none goes over to where the operator is a stranger",
      given: movingTo({ next: "bob" }),
      step: goingOver(movingTo({ next: "bob" })),
      is: "forbidden",
    },
    {
      name: "also when its EtcdPeer is about to say something else beside it",
      given: movingTo({ next: "bob", state: { ...LOCKED, next: ["reader"] } }),
      step: goingOver(movingTo({ next: "bob" })),
      is: "forbidden",
    },
    {
      name: "but to where it is an administrator",
      given: movingTo({ next: "bob", state: { ...LOCKED, next: ["root"] } }),
      step: goingOver(movingTo({ next: "bob" })),
      is: "allowed",
    },
    {
      name: "who stays where it is may change otherwise",
      given: movingTo({ next: "bob" }),
      step: asksClients(certified, true),
      is: "allowed",
    },
    {
      name: "and who has gone over already, too",
      given: movingTo({ next: "bob" }),
      step: hasGoneOver(movingTo({ next: "bob" })),
      is: "allowed",
    },
    {
      name: "and back",
      given: movingTo({ next: "bob" }),
      step: goingBack(movingTo({ next: "bob" })),
      is: "allowed",
    },
    {
      name: "what is about no member is for others to judge",
      given: guarded({ recorded: true }),
      step: enableAuth,
      is: "allowed",
    },
  ],
});
