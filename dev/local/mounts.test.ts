import { expect, test } from "vitest";
import { mountsBelow, parseMountinfo } from "./mounts.ts";

const TEXT = `22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:26 / /sys/fs/cgroup/memory rw shared:5 - cgroup cgroup rw,memory
31 22 0:27 / /state/demo/a\\040b rw,relatime shared:6 master:1 - tmpfs node rw,size=1024k
32 31 0:28 / /state/demo/a\\040b/c rw - overlay overlay rw
33 22 0:29 / /state/demo-2 rw - tmpfs node rw
`;

test("mountinfo: mount point, type and options are read, with and without optional fields", () => {
  const mounts = parseMountinfo(TEXT);
  expect(mounts).toHaveLength(5);
  expect(mounts[1]).toEqual({ point: "/sys/fs/cgroup/memory", type: "cgroup", options: ["rw", "memory"] });
});

test("mountinfo: octal escapes are decoded", () => {
  expect(parseMountinfo(TEXT)[2]?.point).toBe("/state/demo/a b");
});

test("mounts below a folder are listed in reverse order, without mounts of a folder with the same prefix", () => {
  expect(mountsBelow(parseMountinfo(TEXT), "/state/demo")).toEqual(["/state/demo/a b/c", "/state/demo/a b"]);
});
