import {
  CERT_MANAGER_VERSION,
  CNI_PLUGINS_VERSION,
  CONTAINERD_VERSION,
  COREDNS_VERSION,
  ETCD_VERSIONS,
  FAKE_GCS_SERVER_VERSION,
  HELM_3_VERSION,
  HELM_VERSION,
  KREW_VERSION,
  KUBERNETES_LIBRARIES_VERSION,
  KUBERNETES_VERSION,
  ORAS_VERSION,
  PAUSE_VERSION,
  PROMETHEUS_VERSION,
  REGISTRY_VERSION,
  RUNC_VERSION,
  VERSITYGW_VERSION,
} from "./versions.ts";

/** Instructions for building a component from a Go module below dev/go/. */
export interface Recipe {
  readonly version: string;
  /** Folder below dev/go/ with go.mod and go.sum. */
  readonly module: string;
  /** Name of the binary → Go package. The first is the component's main binary. */
  readonly binaries: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
  readonly ldflags: readonly string[];
  /** Whether C code is linked; "auto": Go decides, by whether there is a C compiler. */
  readonly cgo: "0" | "1" | "auto";
  /** Source files that are kept with the binaries: name of the folder → Go module, and the folder in it. */
  readonly folders?: Readonly<Record<string, { readonly module: string; readonly path: string }>>;
}

// Without symbol tables binaries need half of the disk space. They are not debugged.
const STRIPPED = ["-s", "-w"];

const KUBERNETES_LDFLAGS = [
  ...STRIPPED,
  ...["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((pkg) => [
    `-X=${pkg}.gitVersion=v${KUBERNETES_VERSION}`,
    `-X=${pkg}.gitMajor=${KUBERNETES_VERSION.split(".")[0]}`,
    `-X=${pkg}.gitMinor=${KUBERNETES_VERSION.split(".")[1]}`,
    `-X=${pkg}.gitTreeState=clean`,
  ]),
];

function kubernetes(binary: string): Recipe {
  return {
    version: KUBERNETES_VERSION,
    module: "kubernetes",
    binaries: { [binary]: `k8s.io/kubernetes/cmd/${binary}` },
    tags: [],
    ldflags: KUBERNETES_LDFLAGS,
    cgo: "auto",
  };
}

function etcd(version: string): Recipe {
  return {
    version,
    module: `etcd-${version}`,
    binaries: {
      etcd: "go.etcd.io/etcd/server/v3",
      etcdctl: "go.etcd.io/etcd/etcdctl/v3",
      etcdutl: "go.etcd.io/etcd/etcdutl/v3",
    },
    tags: [],
    ldflags: STRIPPED,
    cgo: "0",
  };
}

const CERT_MANAGER = "github.com/cert-manager/cert-manager";
const CONTAINERD = "github.com/containerd/containerd/v2/cmd";
const PROMETHEUS = "github.com/prometheus/prometheus/cmd";
const CNI = "github.com/containernetworking/plugins/plugins";

function helm(module: string, version: string): Recipe {
  const binaries = { helm: `helm.sh/helm/v${version.split(".")[0]}/cmd/helm` };
  return { version, module, binaries, tags: [], ldflags: STRIPPED, cgo: "0" };
}

export const RECIPES = {
  "kube-apiserver": kubernetes("kube-apiserver"),
  "kube-controller-manager": kubernetes("kube-controller-manager"),
  "kube-scheduler": kubernetes("kube-scheduler"),
  kubelet: kubernetes("kubelet"),
  "kube-proxy": kubernetes("kube-proxy"),
  kubectl: kubernetes("kubectl"),
  "etcd-3.5.35": etcd(ETCD_VERSIONS[0]),
  "etcd-3.6.16": etcd(ETCD_VERSIONS[1]),
  "etcd-3.7.3": etcd(ETCD_VERSIONS[2]),
  containerd: {
    version: CONTAINERD_VERSION,
    module: "containerd",
    binaries: {
      containerd: `${CONTAINERD}/containerd`,
      ctr: `${CONTAINERD}/ctr`,
      "containerd-shim-runc-v2": `${CONTAINERD}/containerd-shim-runc-v2`,
    },
    tags: ["no_btrfs", "no_zfs", "no_devmapper", "no_tracing"],
    ldflags: STRIPPED,
    cgo: "0",
  },
  runc: {
    version: RUNC_VERSION,
    module: "runc",
    binaries: { runc: "github.com/opencontainers/runc" },
    // Without this tag every pod fails with "seccomp not supported".
    tags: ["seccomp"],
    ldflags: STRIPPED,
    cgo: "1",
  },
  cni: {
    version: CNI_PLUGINS_VERSION,
    module: "cni",
    binaries: {
      bridge: `${CNI}/main/bridge`,
      "host-local": `${CNI}/ipam/host-local`,
      loopback: `${CNI}/main/loopback`,
    },
    tags: [],
    ldflags: STRIPPED,
    cgo: "0",
  },
  coredns: {
    version: COREDNS_VERSION,
    module: "coredns",
    binaries: { coredns: "." },
    tags: [],
    ldflags: STRIPPED,
    cgo: "0",
  },
  helm: helm("helm", HELM_VERSION),
  "helm-3": helm("helm-3", HELM_3_VERSION),
  prometheus: {
    version: PROMETHEUS_VERSION,
    module: "prometheus",
    binaries: { prometheus: `${PROMETHEUS}/prometheus`, promtool: `${PROMETHEUS}/promtool` },
    // Tests name targets themselves. Discovery would add the libraries of every cloud and of Kubernetes.
    tags: ["remove_all_sd"],
    ldflags: STRIPPED,
    cgo: "0",
  },
  versitygw: {
    version: VERSITYGW_VERSION,
    module: "versitygw",
    binaries: { versitygw: "github.com/versity/versitygw/cmd/versitygw" },
    tags: [],
    ldflags: STRIPPED,
    cgo: "0",
  },
  "fake-gcs-server": {
    version: FAKE_GCS_SERVER_VERSION,
    module: "fake-gcs-server",
    binaries: { "fake-gcs-server": "github.com/fsouza/fake-gcs-server" },
    tags: [],
    ldflags: STRIPPED,
    cgo: "0",
  },
  "cert-manager": {
    version: CERT_MANAGER_VERSION,
    module: "cert-manager",
    binaries: { "cert-manager": "." },
    tags: [],
    ldflags: [...STRIPPED, `-X=${CERT_MANAGER}/pkg/util.AppVersion=v${CERT_MANAGER_VERSION}`],
    cgo: "0",
    folders: { crds: { module: CERT_MANAGER, path: "deploy/crds" } },
  },
  "typed-client": {
    version: KUBERNETES_LIBRARIES_VERSION,
    module: "typed-client",
    binaries: { "typed-client": "." },
    tags: [],
    ldflags: STRIPPED,
    cgo: "0",
  },
  registry: {
    version: REGISTRY_VERSION,
    module: "registry",
    binaries: { registry: "." },
    tags: [],
    ldflags: STRIPPED,
    cgo: "0",
  },
  oras: {
    version: ORAS_VERSION,
    module: "oras",
    binaries: { oras: "oras.land/oras/cmd/oras" },
    tags: [],
    ldflags: STRIPPED,
    cgo: "0",
  },
  krew: {
    version: KREW_VERSION,
    module: "krew",
    binaries: { krew: "sigs.k8s.io/krew/cmd/krew" },
    tags: [],
    ldflags: STRIPPED,
    cgo: "0",
  },
  pause: { version: PAUSE_VERSION, module: "pause", binaries: { pause: "." }, tags: [], ldflags: STRIPPED, cgo: "0" },
} as const satisfies Record<string, Recipe>;

export type ComponentName = keyof typeof RECIPES;

/** Name that `go build -o FOLDER/` gives to a package's binary: the last path element that is not a major version. */
export function goBinaryName(goPackage: string, module: string): string {
  const elements = (goPackage === "." ? module : goPackage).split("/");
  const last = elements.at(-1) ?? "";
  return /^v\d+$/.test(last) ? (elements.at(-2) ?? last) : last;
}
