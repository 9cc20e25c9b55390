import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { DEFAULT_STORAGE_SPEC } from "#api/v1beta1/storage-schema.ts";
import { expectAlike, type Listed, strayLines } from "#kit/likeness/likeness.ts";
import {
  type ApiSide,
  claim,
  clusterOf,
  headOf,
  PORT,
  peer,
  pod,
  realApi,
  replicaSet,
  service,
  simulatedApi,
} from "#kit/likeness/likeness-apiserver.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startWithKinds } from "#kit/servers/shipped.ts";
import {
  type Draft,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  type Pod,
  REPLICA_SETS,
  type ReplicaSet,
  type Resource,
  SERVICES,
  type Service,
} from "#kube/kinds.ts";

// The simulated API server answers as the real one does: see test/kit/likeness/likeness.ts.

/** Intended differences. */
const ON_PURPOSE: Listed = {
  "Lists are in the order of creation, not by name: no decision may depend on their order.": [
    "watch: from the present state on",
    "watch: a list",
  ],
  "A pod without a node is deleted in one write, not in two at the same moment.": ["pod: the events of a watch"],
  "The people of the simulated world write complete and valid EtcdClusters only; schema.test.ts has the others.": [
    "defaults: an EtcdCluster with only its size and release",
    "objects that violate the schemas: a negative number of members",
    "objects that violate the schemas: too many members",
    "objects that violate the schemas: an unknown version",
    "objects that violate the schemas: a cluster's storage stays",
  ],
  "Defaults of an EtcdPeer are not filled in: the operator writes all that it later reads.": [
    "defaults: an EtcdPeer with only its cluster and release",
  ],
};

const { signal } = new AbortController();
const OPTIONS = { signal };

interface Story {
  readonly name: string;
  tell(side: ApiSide): Promise<void>;
}

const STORIES: readonly Story[] = [
  {
    name: "create",
    async tell({ kube, namespace, diary }) {
      const draft = peer(namespace, "a", { labels: { of: "story" }, annotations: { note: "x" } });
      await diary.note("it is created", () => kube.create(ETCD_PEERS, draft, OPTIONS));
      await diary.note("it is read", () => kube.get(ETCD_PEERS, { namespace, name: "a" }, OPTIONS));
      await diary.note("it is found", () => kube.find(ETCD_PEERS, { namespace, name: "a" }, OPTIONS));
      await diary.note("its name is taken", () => kube.create(ETCD_PEERS, draft, OPTIONS));
      await diary.note("a missing name cannot be read", () => kube.get(ETCD_PEERS, { namespace, name: "b" }, OPTIONS));
      await diary.note("a missing name is absent", () => kube.find(ETCD_PEERS, { namespace, name: "b" }, OPTIONS));
      const status = { memberID: "1" };
      await diary.note("a status in the draft is ignored", () =>
        kube.create(ETCD_PEERS, { ...peer(namespace, "b"), status }, OPTIONS),
      );
      await diary.note("it may have a finalizer from the start", () =>
        kube.create(ETCD_PEERS, peer(namespace, "c", { finalizers: ["test/one"] }), OPTIONS),
      );
    },
  },
  {
    name: "replace",
    async tell({ kube, namespace, diary }) {
      const made = await diary.need("it is created", () =>
        kube.create(ETCD_PEERS, peer(namespace, "a", { labels: { of: "story" } }), OPTIONS),
      );
      const first = await diary.need("the first write stores the default of the status", () =>
        kube.replace(ETCD_PEERS, made, OPTIONS),
      );
      const replaced = (line: string, object: Draft<EtcdPeer>) =>
        diary.note(line, () => kube.replace(ETCD_PEERS, object, OPTIONS));
      await replaced("nothing changes", first);
      const { bootstrap: _, ...joined } = first.spec;
      const second = await diary.need("the spec changes", () =>
        kube.replace(ETCD_PEERS, { ...first, spec: joined }, OPTIONS),
      );
      await replaced("an old version is refused", { ...first, spec: joined });
      await replaced("an old version is refused although nothing would change", {
        ...second,
        metadata: { ...second.metadata, resourceVersion: first.metadata.resourceVersion },
      });
      await replaced("another uid is refused", { ...second, metadata: { ...second.metadata, uid: OTHER_UID } });
      const { labels: __, ...unlabelled } = second.metadata;
      const third = await replaced("labels that are left out are removed", { ...second, metadata: unlabelled });
      await replaced("its identity cannot be changed", {
        ...second,
        metadata: {
          name: "a",
          namespace,
          resourceVersion: third?.metadata.resourceVersion ?? "",
          creationTimestamp: "2020-01-01T00:00:00Z",
          generation: 77,
        },
      });
      await replaced("a missing object cannot be replaced", {
        ...second,
        metadata: { ...second.metadata, name: "nobody" },
      });
    },
  },
  {
    name: "status",
    async tell({ kube, namespace, diary }) {
      const made = await diary.need("it is created", () => kube.create(ETCD_PEERS, peer(namespace, "a"), OPTIONS));
      const status = (line: string, object: Draft<EtcdPeer>) =>
        diary.note(line, () => kube.replace(ETCD_PEERS, object, { signal, subresource: "status" }));
      const written = await status("only the status is written", {
        ...made,
        metadata: { ...made.metadata, labels: { more: "labels" }, finalizers: ["test/one"] },
        spec: { ...made.spec, memberID: "77" },
        status: { memberID: "1" },
      });
      await status("the same once more", { ...made, ...written, status: { memberID: "1" } });
      await status("an old version is refused", { ...made, status: { memberID: "2" } });
      await diary.note("a replacement keeps the status", () =>
        kube.replace(ETCD_PEERS, { ...made, ...written, status: { memberID: "3" } }, OPTIONS),
      );
      const { status: _, ...without } = written ?? made;
      await diary.note("a replacement without a status keeps it", () => kube.replace(ETCD_PEERS, without, OPTIONS));
      await status("the status of a missing object cannot be written", {
        ...made,
        metadata: { ...made.metadata, name: "nobody" },
        status: {},
      });
    },
  },
  {
    name: "patch",
    async tell({ kube, namespace, diary }) {
      const made = await diary.need("it is created", () =>
        kube.create(ETCD_PEERS, peer(namespace, "a", { annotations: { note: "x" }, labels: { of: "story" } }), OPTIONS),
      );
      const { uid, resourceVersion } = made.metadata;
      const patched = (line: string, metadata: object, preconditions = {}, name = "a") =>
        diary.note(line, () =>
          kube.patch(ETCD_PEERS, { namespace, name }, { metadata }, { signal, type: "merge", preconditions }),
        );
      await patched("another uid is refused", { annotations: { more: "y" } }, { uid: OTHER_UID });
      await patched("an annotation is added", { annotations: { more: "y" } }, { uid, resourceVersion });
      await patched("an old version is refused", { annotations: { more: "z" } }, { uid, resourceVersion });
      await patched("the same once more", { annotations: { more: "y" } }, { uid });
      await patched("a label is added, an annotation removed", {
        labels: { more: "y" },
        annotations: { note: null },
      });
      await patched("the last annotation is removed", { annotations: { more: null } });
      await patched("a finalizer is added", { finalizers: ["test/one"] });
      await patched("a finalizer is removed", { finalizers: [] });
      await patched("a missing object cannot be patched", { annotations: { more: "y" } }, { uid }, "nobody");
    },
  },
  {
    name: "delete",
    async tell({ kube, namespace, diary }) {
      const first = await diary.need("it is created", () => kube.create(ETCD_PEERS, peer(namespace, "a"), OPTIONS));
      const second = await diary.need("it is changed", () =>
        kube.replace(ETCD_PEERS, { ...first, metadata: { ...first.metadata, labels: { of: "story" } } }, OPTIONS),
      );
      const { uid, resourceVersion } = first.metadata;
      const deleted = (line: string, preconditions: { uid: string; resourceVersion?: string }) =>
        diary.note(line, () => kube.delete(ETCD_PEERS, { namespace, name: "a" }, { signal, preconditions }));
      await deleted("another uid is refused", { uid: OTHER_UID });
      await deleted("an old version is refused", { uid, resourceVersion });
      await deleted("it goes", { uid, resourceVersion: second.metadata.resourceVersion });
      await deleted("it is gone", { uid });
      await diary.note("nothing is left", () => kube.get(ETCD_PEERS, { namespace, name: "a" }, OPTIONS));
      await diary.note("its name is free", () => kube.create(ETCD_PEERS, peer(namespace, "a"), OPTIONS));
      await deleted("the new object has a different uid", { uid });
    },
  },
  {
    name: "deletion with finalizers",
    async tell({ kube, namespace, diary, events }) {
      const ref = { namespace, name: "a" };
      const finalizers = ["test/one", "test/two"];
      const made = await diary.need("it is created", () =>
        kube.create(ETCD_PEERS, peer(namespace, "a", { finalizers }), OPTIONS),
      );
      const { uid, resourceVersion } = made.metadata;
      const patched = (line: string, metadata: object) =>
        diary.note(line, () => kube.patch(ETCD_PEERS, ref, { metadata }, { signal, type: "merge" }));
      const read = () => kube.get(ETCD_PEERS, ref, OPTIONS);
      await diary.note("it is deleted", () => kube.delete(ETCD_PEERS, ref, { signal, preconditions: { uid } }));
      const going = await diary.need("it stays", read);
      await diary.note("it is deleted again", () => kube.delete(ETCD_PEERS, ref, { signal, preconditions: { uid } }));
      await diary.note("a second deletion changes nothing", read);
      await diary.note("its name is taken", () => kube.create(ETCD_PEERS, peer(namespace, "a"), OPTIONS));
      await patched("it can still be written", { annotations: { note: "x" } });
      const { bootstrap: _, ...joined } = going.spec;
      await diary.note("its spec still changes", async () =>
        kube.replace(ETCD_PEERS, { ...(await read()), spec: joined }, OPTIONS),
      );
      await diary.note("its deletion cannot be undone", async () => {
        const { deletionTimestamp: __, ...metadata } = (await read()).metadata;
        return await kube.replace(ETCD_PEERS, { ...going, spec: joined, metadata }, OPTIONS);
      });
      await patched("one finalizer is removed", { finalizers: ["test/two"] });
      await patched("the last finalizer is removed, and so is the object", { finalizers: [] });
      await diary.note("nothing is left", read);
      await kube.create(ETCD_PEERS, peer(namespace, "end"), OPTIONS);
      await diary.note("the events of a watch", () => events(ETCD_PEERS, { resourceVersion }, "end"));
    },
  },
  {
    name: "finalizers added after the deletion",
    async tell({ kube, namespace, diary }) {
      const going = async (name: string) => {
        const { metadata } = await kube.create(
          ETCD_PEERS,
          peer(namespace, name, { finalizers: ["test/one"] }),
          OPTIONS,
        );
        await kube.delete(ETCD_PEERS, { namespace, name }, { signal, preconditions: { uid: metadata.uid } });
        return await kube.get(ETCD_PEERS, { namespace, name }, OPTIONS);
      };
      const patched = await going("patched");
      const finalizers = ["test/one", "test/two"];
      await diary.note("patched", () =>
        kube.patch(ETCD_PEERS, patched.metadata, { metadata: { finalizers } }, { signal, type: "merge" }),
      );
      await diary.note("patched with a different finalizer", () =>
        kube.patch(
          ETCD_PEERS,
          patched.metadata,
          { metadata: { finalizers: ["test/three"] } },
          { signal, type: "merge" },
        ),
      );
      const replaced = await going("replaced");
      await diary.note("replaced", () =>
        kube.replace(ETCD_PEERS, { ...replaced, metadata: { ...replaced.metadata, finalizers } }, OPTIONS),
      );
    },
  },
  {
    name: "finalizers removed by a replacement",
    async tell({ kube, namespace, diary, events }) {
      const ref = { namespace, name: "a" };
      const made = await diary.need("it is created", () =>
        kube.create(ETCD_PEERS, peer(namespace, "a", { finalizers: ["test/one"] }), OPTIONS),
      );
      const { uid, resourceVersion } = made.metadata;
      await kube.delete(ETCD_PEERS, ref, { signal, preconditions: { uid } });
      const going = await kube.get(ETCD_PEERS, ref, OPTIONS);
      const { finalizers: _, ...released } = going.metadata;
      await diary.note("the last finalizer is removed, and so is the object", () =>
        kube.replace(ETCD_PEERS, { ...going, metadata: released }, OPTIONS),
      );
      await diary.note("nothing is left", () => kube.get(ETCD_PEERS, ref, OPTIONS));
      await kube.create(ETCD_PEERS, peer(namespace, "end"), OPTIONS);
      await diary.note("the events of a watch", () => events(ETCD_PEERS, { resourceVersion }, "end"));
    },
  },
  {
    name: "watch",
    async tell({ kube, namespace, diary, events }) {
      const before = await kube.create(ETCD_PEERS, peer(namespace, "before"), OPTIONS);
      const { resourceVersion } = before.metadata;
      const made = await kube.create(ETCD_PEERS, peer(namespace, "a"), OPTIONS);
      const stored = await kube.replace(ETCD_PEERS, made, OPTIONS);
      await kube.replace(ETCD_PEERS, stored, OPTIONS);
      await kube.replace(ETCD_PEERS, { ...stored, status: { memberID: "1" } }, { signal, subresource: "status" });
      await kube.delete(ETCD_PEERS, { namespace, name: "a" }, { signal, preconditions: { uid: made.metadata.uid } });
      await kube.create(ETCD_PEERS, peer(namespace, "a"), OPTIONS);
      await kube.create(ETCD_PEERS, peer(namespace, "end"), OPTIONS);
      await diary.note("made, written, deleted, made again", () => events(ETCD_PEERS, { resourceVersion }, "end"));
      await diary.note("from the present state on", () => events(ETCD_PEERS, { initialEvents: true }, "end"));
      await diary.note("a list", () => kube.list(ETCD_PEERS, { namespace }, OPTIONS));
    },
  },
  {
    name: "label selector",
    async tell({ kube, namespace, diary, events }) {
      const labelSelector = "of=story";
      const labelled = { labels: { of: "story" } };
      const start = await kube.create(ETCD_PEERS, peer(namespace, "start"), OPTIONS);
      const { resourceVersion } = start.metadata;
      const patch = (name: string, metadata: object) =>
        kube.patch(ETCD_PEERS, { namespace, name }, { metadata }, { signal, type: "merge" });
      await kube.create(ETCD_PEERS, peer(namespace, "a", labelled), OPTIONS);
      const other = await kube.create(ETCD_PEERS, peer(namespace, "other"), OPTIONS);
      await patch("a", { annotations: { note: "x" } });
      await patch("a", { labels: { of: null, is: "out" }, annotations: { note: "y" } });
      await patch("a", { annotations: { note: "unseen" } });
      await patch("a", { labels: { of: "story" } });
      await kube.delete(ETCD_PEERS, other.metadata, { signal, preconditions: { uid: other.metadata.uid } });
      await patch("start", { labels: { of: "story" } });
      await kube.delete(ETCD_PEERS, start.metadata, { signal, preconditions: { uid: start.metadata.uid } });
      await kube.create(ETCD_PEERS, peer(namespace, "end", labelled), OPTIONS);
      await diary.note("an object that leaves the selection counts as deleted", () =>
        events(ETCD_PEERS, { resourceVersion, labelSelector }, "end"),
      );
      await diary.note("a list", () => kube.list(ETCD_PEERS, { namespace, labelSelector }, OPTIONS));
    },
  },
  {
    name: "defaults",
    async tell({ kube, namespace, diary }) {
      const few = <T extends KubeObject>(resource: Resource<T>, name: string, spec: object) =>
        ({ ...headOf(resource, namespace, name), spec }) as unknown as Draft<T>;
      await diary.note("an EtcdCluster with only its size and release", () =>
        kube.create(ETCD_CLUSTERS, few(ETCD_CLUSTERS, "a", { replicas: 3, version: DEFAULT_VERSION }), OPTIONS),
      );
      await diary.note("an EtcdPeer with only its cluster and release", () =>
        kube.create(ETCD_PEERS, few(ETCD_PEERS, "a", { clusterName: "a", version: DEFAULT_VERSION }), OPTIONS),
      );
    },
  },
  {
    name: "objects that violate the schemas",
    async tell({ kube, namespace, diary }) {
      let count = 0;
      const tried = async <T extends EtcdPeer | EtcdCluster>(
        line: string,
        resource: Resource<T>,
        draft: (name: string) => Draft<T>,
        ...changes: readonly object[]
      ) => {
        count += 1;
        let object = await kube.create(resource, draft(`a${count}`), OPTIONS);
        await diary.note(line, async () => {
          for (const change of changes)
            object = await kube.replace(resource, { ...object, spec: { ...object.spec, ...change } }, OPTIONS);
          return "accepted";
        });
      };
      const peerNamed = (name: string) => peer(namespace, name);
      const { bootstrap } = peer(namespace, "a").spec ?? {};
      await tried("a peer's cluster stays", ETCD_PEERS, peerNamed, { clusterName: "other" });
      await tried("a peer's storage stays", ETCD_PEERS, peerNamed, { storage: OTHER_STORAGE });
      await tried("a peer's pod template stays", ETCD_PEERS, peerNamed, { podTemplate: OTHER_POD });
      await tried("a peer's version is one of etcd's", ETCD_PEERS, peerNamed, { version: "latest" });
      await tried("a peer joins", ETCD_PEERS, peerNamed, { bootstrap: undefined });
      await tried(
        "a peer's bootstrap cannot be given back",
        ETCD_PEERS,
        peerNamed,
        { bootstrap: undefined },
        { bootstrap },
      );
      const clusterNamed = (name: string) => clusterOf(namespace, name);
      await tried("more members", ETCD_CLUSTERS, clusterNamed, { replicas: 5 });
      await tried("a negative number of members", ETCD_CLUSTERS, clusterNamed, { replicas: -1 });
      await tried("too many members", ETCD_CLUSTERS, clusterNamed, { replicas: 8 });
      await tried("an unknown version", ETCD_CLUSTERS, clusterNamed, { version: "3.4.0" });
      await tried("a cluster's storage stays", ETCD_CLUSTERS, clusterNamed, { storage: OTHER_STORAGE });
    },
  },
  {
    name: "claim",
    async tell({ kube, namespace, diary, events }) {
      const ref = { namespace, name: "a" };
      const made = await diary.need("it is created and protected", () =>
        kube.create(PERSISTENT_VOLUME_CLAIMS, claim(namespace, "a", { annotations: { note: "x" } }), OPTIONS),
      );
      const { uid, resourceVersion } = made.metadata;
      await diary.note("its name is taken", () =>
        kube.create(PERSISTENT_VOLUME_CLAIMS, claim(namespace, "a"), OPTIONS),
      );
      const metadata = { labels: { quarantined: "true" }, annotations: { reason: "lost" } };
      await diary.note("it is marked", () =>
        kube.patch(
          PERSISTENT_VOLUME_CLAIMS,
          ref,
          { metadata },
          { signal, type: "merge", preconditions: { uid, resourceVersion } },
        ),
      );
      await diary.note("an old version is refused", () =>
        kube.patch(
          PERSISTENT_VOLUME_CLAIMS,
          ref,
          { metadata },
          { signal, type: "merge", preconditions: { uid, resourceVersion } },
        ),
      );
      const deleted = (line: string, of: string) =>
        diary.note(line, () => kube.delete(PERSISTENT_VOLUME_CLAIMS, ref, { signal, preconditions: { uid: of } }));
      await deleted("another uid is refused", OTHER_UID);
      await deleted("it is deleted", uid);
      await diary.note("it stays while it is protected", () => kube.get(PERSISTENT_VOLUME_CLAIMS, ref, OPTIONS));
      await deleted("it is deleted again", uid);
      await kube.create(PERSISTENT_VOLUME_CLAIMS, claim(namespace, "end"), OPTIONS);
      await diary.note("the events of a watch", () => events(PERSISTENT_VOLUME_CLAIMS, { resourceVersion }, "end"));
    },
  },
  {
    name: "pod",
    async tell({ kube, namespace, diary, events }) {
      const waiting = await diary.need("one without a node", () => kube.create(PODS, pod(namespace, "a"), OPTIONS));
      const running = await diary.need("one on a node", () =>
        kube.create(PODS, pod(namespace, "b", "node-0"), OPTIONS),
      );
      const { resourceVersion, uid } = running.metadata;
      const annotated = (line: string, preconditions: { uid: string }) =>
        diary.note(line, () =>
          kube.patch(
            PODS,
            running.metadata,
            { metadata: { annotations: { note: "x" } } },
            { signal, type: "merge", preconditions },
          ),
        );
      await annotated("it is annotated", { uid });
      await annotated("another uid is refused", { uid: OTHER_UID });
      for (const { metadata } of [waiting, running]) {
        const options = { signal, preconditions: { uid: metadata.uid } };
        await diary.note(`${metadata.name} is deleted`, () => kube.delete(PODS, metadata, options));
        await diary.note(`${metadata.name} after that`, () => kube.get(PODS, metadata, OPTIONS));
      }
      await kube.create(PODS, pod(namespace, "end"), OPTIONS);
      await diary.note("the events of a watch", () => events(PODS, { resourceVersion }, "end"));
    },
  },
  {
    name: "pod that has ended",
    async tell({ kube, namespace, diary }) {
      const running = await diary.need("it is on a node", () =>
        kube.create(PODS, pod(namespace, "a", "node-0"), OPTIONS),
      );
      const status = { phase: "Failed", reason: "Evicted" } as NonNullable<Pod["status"]>;
      await diary.note("the kubelet has ended it", () =>
        kube.replace(PODS, { ...running, status }, { signal, subresource: "status" }),
      );
      await diary.note("it stays", () => kube.get(PODS, running.metadata, OPTIONS));
      await diary.note("it is deleted", () =>
        kube.delete(PODS, running.metadata, { signal, preconditions: { uid: running.metadata.uid } }),
      );
      await diary.note("it is gone", () => kube.get(PODS, running.metadata, OPTIONS));
    },
  },
  {
    name: "service",
    async tell({ kube, namespace, diary }) {
      let live = await kube.create(SERVICES, service(namespace, "a", {}), OPTIONS);
      const { clusterIP } = live.spec ?? {};
      const ports: unknown[] = [undefined];
      // Addresses and ports are random: only their equality is compared.
      const drawn = ({ spec = {} }: Service) => {
        const nodePort = spec.ports?.[0]?.nodePort;
        if (!ports.includes(nodePort)) ports.push(nodePort);
        const { type = "ClusterIP", externalTrafficPolicy, allocateLoadBalancerNodePorts } = spec;
        const open = { externalTrafficPolicy, allocateLoadBalancerNodePorts };
        return { type, isThere: spec.clusterIP === clusterIP, port: ports.indexOf(nodePort), open };
      };
      const put = (line: string, spec: Service["spec"]) =>
        diary.note(line, async () => {
          live = await kube.replace(
            SERVICES,
            { ...live, spec: { ...service(namespace, "a", {}).spec, ...spec } },
            OPTIONS,
          );
          return drawn(live);
        });
      await put("nothing changes", {});
      await put("it gets a node port", { type: "NodePort" });
      await put("it keeps the node port", { type: "NodePort" });
      await put("it keeps the node port with a load balancer", { type: "LoadBalancer" });
      await put("all of that is removed when it is closed", {});
      await put("it gets a new node port", { type: "LoadBalancer" });
      await put("it is closed with its other fields unchanged", { ...live.spec, type: "ClusterIP" });
      await put("a closed Service cannot have a node port", { ports: [{ ...PORT, nodePort: 30_080 }] });
      await put("a closed Service cannot have externalTrafficPolicy", { externalTrafficPolicy: "Local" });
      await put("its address stays", { clusterIP: "None" });
      await put("a requested node port is given", { type: "NodePort", ports: [{ ...PORT, nodePort: 30_080 }] });
      await diary.note("a headless Service has no address", async () => {
        const { spec } = await kube.create(SERVICES, service(namespace, "b", { clusterIP: "None" }), OPTIONS);
        return { clusterIP: spec?.clusterIP };
      });
      await diary.note("a Service may be open from the start", async () =>
        drawn(await kube.create(SERVICES, service(namespace, "c", { type: "NodePort" }), OPTIONS)),
      );
    },
  },
  {
    name: "replica set",
    async tell({ kube, namespace, diary }) {
      const made = await diary.need("it is created", () =>
        kube.create(REPLICA_SETS, replicaSet(namespace, "a"), OPTIONS),
      );
      const spec = made.spec as NonNullable<ReplicaSet["spec"]>;
      await diary.note("its selector stays", () =>
        kube.replace(
          REPLICA_SETS,
          { ...made, spec: { ...spec, selector: { matchLabels: { of: "story", more: "labels" } } } },
          OPTIONS,
        ),
      );
      const second = await kube.create(REPLICA_SETS, replicaSet(namespace, "b"), OPTIONS);
      const other = { ...second, spec: { ...spec, minReadySeconds: 5 } };
      await diary.note("the rest changes", () => kube.replace(REPLICA_SETS, other, OPTIONS));
      await diary.note("an old version is refused", () => kube.replace(REPLICA_SETS, other, OPTIONS));
    },
  },
];

const OTHER_UID = "00000000-0000-4000-8000-000000000000";
const OTHER_STORAGE = {
  ...DEFAULT_STORAGE_SPEC,
  size: "1Gi",
} as EtcdPeer["spec"]["storage"];
const OTHER_POD: EtcdPeer["spec"]["podTemplate"] = { metadata: { annotations: { a: "b" } } };
let server: ApiServer;

beforeAll(async () => {
  server = await startWithKinds([ETCD_CLUSTERS, ETCD_PEERS]);
});
afterAll(async () => await server?.stop());

describe.concurrent("the simulated API server answers as the real one", () => {
  test.each(STORIES)("$name", async ({ name, tell }) => {
    const namespace = `story-${STORIES.findIndex((story) => story.name === name)}`;
    const sides = [await realApi(server.client, namespace), await simulatedApi(namespace)] as const;
    await Promise.all(sides.map((side) => tell(side)));
    expectAlike(name, sides[0].diary, sides[1].diary, ON_PURPOSE);
  });
});

test("each listed difference names a scenario", () => {
  expect(strayLines(STORIES, ON_PURPOSE)).toEqual([]);
});
