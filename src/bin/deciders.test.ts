import { describe, expect, test } from "vitest";
import { present } from "#base/observed.ts";
import type { KubeObject, Ref } from "#kube/kinds.ts";
import type { LoopOptions, SeenChange } from "#runtime/control-loop.ts";
import type { Key } from "#runtime/controller.ts";
import { type Shard, shardNumber } from "#shards/belonging.ts";
import { decidersOf, narrowed } from "./deciders.ts";

const SHARD: Shard = { number: shardNumber("default", "mine", 1_000_003), of: 1_000_003 };

function cacheOf(specs: Readonly<Record<string, object>>) {
  return {
    get: ({ name }: Ref) =>
      specs[name] === undefined
        ? undefined
        : ({ metadata: { namespace: "default", name }, spec: specs[name] } as never),
  };
}

const byRef = cacheOf({ here: { clusterRef: { name: "mine" } }, mine: { clusterRef: { name: "else" } } });
const CACHES = {
  peers: cacheOf({ here: { clusterName: "mine" }, mine: { clusterName: "else" } }),
  roles: byRef,
  users: byRef,
  backups: cacheOf({
    here: { source: { cluster: { name: "mine" } } },
    mine: { source: { cluster: { name: "else" } } },
    else: { source: {} },
  }),
  restores: cacheOf({
    here: { clusterTemplate: { clusterName: "mine" } },
    mine: { clusterTemplate: { clusterName: "else" } },
  }),
};

const key = (name: string): Key => ({ namespace: "default", name });

describe("the shard of an object depends on", () => {
  const decides = decidersOf(CACHES, SHARD);
  test.each([
    ["the name of an EtcdCluster, whether or not it exists", decides.cluster, ["mine"], ["here", "else"]],
    [
      "the name of an EtcdBackupSchedule, since its cluster can be edited",
      decides.schedule,
      ["mine"],
      ["here", "else"],
    ],
    ["the clusterName of an EtcdPeer", decides.peer, ["here", "gone"], ["mine"]],
    ["the clusterRef of an EtcdRole", decides.role, ["here", "gone"], ["mine"]],
    ["the clusterRef of an EtcdUser", decides.user, ["here", "gone"], ["mine"]],
    [
      "the cluster of an EtcdBackup, or its own name if it has none",
      decides.backup,
      ["here", "gone"],
      ["mine", "else"],
    ],
    ["the name of the cluster that an EtcdRestore creates", decides.restore, ["here", "gone"], ["mine"]],
  ])("%s", (_title, decidesHere, here, elsewhere) => {
    for (const name of here) expect([name, decidesHere(key(name))]).toEqual([name, true]);
    for (const name of elsewhere) expect([name, decidesHere(key(name))]).toEqual([name, false]);
  });

  test("nothing when there are no shards: every process reconciles every object", () => {
    for (const each of Object.values(decidersOf(CACHES, undefined))) expect(each(key("else"))).toBe(true);
  });
});

test("an object of another shard gets no passes, neither from changes nor at the start", async () => {
  const seen: string[] = [];
  const listeners: ((change: SeenChange) => void)[] = [];
  const options = {
    controller: {
      observe: (of: Key) => {
        seen.push(of.name);
        return Promise.resolve(present(of.name));
      },
    },
    watches: [
      {
        cache: {
          onChange: (listener: (change: SeenChange) => void) => {
            listeners.push(listener);
            return () => undefined;
          },
        },
        keysFor: ({ metadata }: KubeObject) => [key(metadata.name), key("mine")],
      },
    ],
    allKeys: () => [key("mine"), key("else")],
  } as unknown as LoopOptions<string, { do: string }, string>;
  const { controller, watches, allKeys } = narrowed(options, ({ name }) => name === "mine");
  expect(allKeys()).toEqual([key("mine")]);
  expect(watches[0]?.keysFor({ metadata: { name: "else" } } as KubeObject)).toEqual([key("mine")]);
  const signal = new AbortController().signal;
  expect(await controller.observe(key("mine"), signal)).toEqual(present("mine"));
  expect(await controller.observe(key("else"), signal)).toEqual({ is: "absent" });
  expect(seen).toEqual(["mine"]);
});
