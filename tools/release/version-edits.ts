/** A file with the version, and the places of it. */
interface Place {
  readonly file: string;
  /** With the version in place of `VERSION`. Each has to be there. */
  readonly texts: readonly string[];
}

const places: readonly Place[] = [
  { file: 'package.json', texts: ['"version": "VERSION",'] },
  // Of the package, and of its root in the list of packages.
  {
    file: 'package-lock.json',
    texts: [
      '"name": "latchkey",\n  "version": "VERSION",',
      '"name": "latchkey",\n      "version": "VERSION",',
    ],
  },
  { file: 'src/version.ts', texts: ["version = 'VERSION';"] },
  { file: 'config/operator/kustomization.yaml', texts: ['newTag: VERSION\n'] },
  { file: 'config/gateway/kustomization.yaml', texts: ['newTag: VERSION\n'] },
  { file: 'config/direct-endpoint/kustomization.yaml', texts: ['newTag: VERSION\n'] },
  { file: 'Dockerfile', texts: ['org.opencontainers.image.version="VERSION"'] },
  { file: 'docs/guide/install.md', texts: ['latchkey:VERSION .`', 'newTag: VERSION\n'] },
  { file: 'docs/reference/direct-endpoint.md', texts: ['newTag: VERSION\n'] },
  {
    file: 'docs/reference/platforms.md',
    texts: ['latchkey:VERSION\n', 'build -t latchkey:VERSION ', 'docker-image latchkey:VERSION '],
  },
];

export interface Release {
  /** In the tree now. */
  readonly present: string;
  readonly next: string;
  /** As `2026-11-26`. */
  readonly date: string;
  readonly read: (file: string) => string;
}

/** Every file that says which version this is, and its text for the next one. @throws Error that names what is missing. */
export function versionEdits({ present, next, date, read }: Release): ReadonlyMap<string, string> {
  if (!/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(next))
    throw new Error(`"${next}" is no version: write it as 0.2.0 or 0.2.0-rc.1`);
  const edits = places.map(({ file, texts }): [string, string] => {
    let text = read(file);
    for (const place of texts) {
      const [before, after] = [present, next].map((version) => place.replace('VERSION', version)) as [
        string,
        string,
      ];
      if (!text.includes(before)) throw new Error(`${file} does not say ${JSON.stringify(before)}`);
      text = text.replace(before, after);
    }
    return [file, text];
  });
  return new Map([...edits, ['CHANGELOG.md', datedChangelog(read('CHANGELOG.md'), next, date)]]);
}

function datedChangelog(text: string, next: string, date: string): string {
  const open = `## ${next}, not released yet\n`;
  if (!text.includes(open)) throw new Error(`CHANGELOG.md has no section "${open.trim()}": write it first`);
  return text.replace(open, `## ${next}, ${date}\n`);
}

/** Finds what the changelog says about a version. */
export function notesFor(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m);
  const section = sections.find((text) => text.startsWith(`## ${version},`)) ?? '';
  return section.slice(section.indexOf('\n') + 1).trim();
}
