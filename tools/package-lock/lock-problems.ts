/** The parts of package.json that pin versions. */
export interface Manifest {
  readonly dependencies?: Versions;
  readonly devDependencies?: Versions;
  readonly optionalDependencies?: Versions;
}

/** package-lock.json, lockfileVersion 3. `packages` maps folders to what is installed there; '' is the project. */
export interface Lock {
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

export interface LockedPackage extends Manifest {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
}

type Versions = Readonly<Record<string, string>>;

/** Everything that would make `npm ci` give another result, or none, on another machine. Empty: the lock file is sound. */
export function lockProblems(manifest: Manifest, lock: Lock): readonly string[] {
  if (lock.lockfileVersion !== 3)
    return [`lockfileVersion is ${lock.lockfileVersion}: write the lock file with npm 9 or newer`];
  return [
    ...pinProblems(manifest, lock),
    ...Object.entries(lock.packages).flatMap(([folder, entry]) => [
      ...optionalProblems(folder, entry, lock),
      ...entryProblems(folder, entry),
    ]),
  ];
}

function pinProblems(manifest: Manifest, lock: Lock): readonly string[] {
  return Object.entries(allDependencies(manifest)).flatMap(([name, version]) => {
    if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
      return [`package.json: ${name} is "${version}": pin one exact version`];
    const locked = lock.packages[`node_modules/${name}`]?.version;
    return locked === version
      ? []
      : [
          `${name} is ${version} in package.json and ${locked ?? 'missing'} in the lock file: run npm install`,
        ];
  });
}

function allDependencies(manifest: Manifest): Versions {
  return { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
}

/**
 * npm drops the platform packages of other machines from the lock file when it writes it beside an existing
 * node_modules (npm/cli#4828): such a lock file works only where it was written.
 */
function optionalProblems(folder: string, entry: LockedPackage, lock: Lock): readonly string[] {
  return Object.keys(entry.optionalDependencies ?? {})
    .filter((name) => !placesOf(name, folder).some((place) => place in lock.packages))
    .map(
      (name) =>
        `${folder || 'the project'} names the optional dependency ${name}, which has no entry: delete node_modules and package-lock.json and run npm install`,
    );
}

/** The folders where Node looks for a package, seen from `folder`, nearest first. */
function placesOf(name: string, folder: string): readonly string[] {
  const parents = folder
    .split('/node_modules/')
    .map((_, index, parts) => parts.slice(0, parts.length - index));
  const nested = parents.map((parts) => `${parts.join('/node_modules/')}/node_modules/${name}`);
  return [...(folder === '' ? [] : nested), `node_modules/${name}`];
}

function entryProblems(folder: string, entry: LockedPackage): readonly string[] {
  if (folder === '' || entry.link === true || entry.inBundle === true) return [];
  return [
    ...(entry.resolved === undefined
      ? []
      : [
          `${folder} has an address in "resolved": keep omit-lockfile-registry-resolved in .npmrc and write the lock file again`,
        ]),
    ...(entry.integrity === undefined ? [`${folder} has no integrity hash: write the lock file again`] : []),
  ];
}
