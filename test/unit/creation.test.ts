import { expect, test } from "vitest";
import { Scene, toldOf } from "../simulation/stories/scene.ts";

/** Longer than it takes in the simulation until a new cluster is at rest, in milliseconds. */
const MADE_MS = 60_000;

/** What one new cluster of three costs, told in the simulation, where nothing is made twice by chance. */
async function creation() {
  const scene = new Scene(3);
  await toldOf(async () => {
    await scene.start();
    await scene.forMs(MADE_MS);
    return undefined;
  });
  const writes = scene.events.flatMap((event) =>
    event.is === "write" && event.actor === "operator" ? [`${event.verb} ${event.resource.plural}`] : [],
  );
  return { scene, writes: Object.fromEntries([...Map.groupBy(writes, (each) => each)].map(([k, v]) => [k, v.length])) };
}

test("creation: a cluster of three is made with these writes, and none of them is made twice", async () => {
  const { scene, writes } = await creation();
  expect(scene.condition("Ready")?.status).toBe("True");
  expect(writes).toEqual({
    "create services": 2,
    "create etcdpeers": 3,
    "create persistentvolumeclaims": 3,
    "create replicasets": 3,
    "create poddisruptionbudgets": 1,
    // The fence: nobody who has joined may begin anew.
    "replace etcdpeers": 3,
    "replace replicasets": 3,
    "patch pods": 3,
    // That the member is healthy, once it is fenced.
    "replaceStatus etcdpeers": 3,
    // Its identity, who has joined, that it has formed, and that it is Ready.
    "replaceStatus etcdclusters": 4,
  });
});
