import { expect, test } from "vitest";
import { hierarchies, instanceCgroup, kubeletCgroup, nodeCgroup, unifiedHierarchy } from "./cgroups.ts";

const V1 = { point: "/sys/fs/cgroup/memory", type: "cgroup", options: ["memory"] };
const V2 = { point: "/sys/fs/cgroup/unified", type: "cgroup2", options: [] };
const OTHER = { point: "/tmp", type: "tmpfs", options: [] };

test("cgroups: all cgroups of an instance are below a common cgroup", () => {
  for (const path of [nodeCgroup(3, 2), kubeletCgroup(3, 2)])
    expect(path.startsWith(`${instanceCgroup(3)}/`)).toBe(true);
});

test("cgroups: v1 and v2 hierarchies are found among other mounts", () => {
  expect(hierarchies([OTHER, V1, V2])).toEqual([V1.point, V2.point]);
  expect(unifiedHierarchy([OTHER, V1, V2])).toBe(V2.point);
  expect(unifiedHierarchy([OTHER, V1])).toBeUndefined();
});
