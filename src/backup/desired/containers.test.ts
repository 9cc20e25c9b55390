import { expect, test } from "vitest";
import { etcdContainer, etcdutlContainer } from "#backup/desired/containers.ts";

const work = {
  name: "base",
  image: "example.test/etcd:v3.6.16",
  args: ["--data-dir=/data"],
  resources: undefined,
  volumes: [{ mount: { name: "etcd-data", mountPath: "/data" } }],
};

test("a program of etcd's image runs confined, and sees the volumes that it is given alone", () => {
  expect(etcdutlContainer(work)).toStrictEqual({
    name: "base",
    image: "example.test/etcd:v3.6.16",
    imagePullPolicy: "IfNotPresent",
    command: ["etcdutl", "--data-dir=/data"],
    terminationMessagePolicy: "FallbackToLogsOnError",
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [{ name: "etcd-data", mountPath: "/data" }],
  });
  expect(etcdContainer(work)).toStrictEqual({ ...etcdutlContainer(work), command: ["etcd", "--data-dir=/data"] });
});

test("its image is pulled as the cluster's is, and it has the resources that it is given", () => {
  const resources = { limits: { memory: "1Gi" } };
  expect(etcdContainer({ ...work, pullPolicy: "Always", resources })).toMatchObject({
    imagePullPolicy: "Always",
    resources,
  });
});
