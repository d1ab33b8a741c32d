import type { LookupAddress } from 'node:dns';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LatchkeyError } from '../../errors.ts';
import { TargetAddresses } from './addresses.ts';

const everything = ['0.0.0.0/0', '::/0'];
const addresses = (...allowed: string[]) => new TargetAddresses(allowed);
const byDefault = addresses(...everything);

describe('which addresses may be dialled', () => {
  it.each([
    '10.0.0.1',
    '192.168.1.1',
    '172.16.0.1',
    '100.64.0.1',
    '8.8.8.8',
    '126.255.255.255',
    '128.0.0.0',
    '1.0.0.0',
    '223.255.255.255',
    'fd00::1',
    '2001:db8::1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    '64:ff9b::808:808',
    '2002:a00:1::1',
  ])('by default: %s', (address) => {
    expect(byDefault.problem(address)).toBeUndefined();
  });

  it.each([
    ['a loopback address', '127.0.0.1', '127.255.255.254', '::1'],
    ['an unspecified address', '0.0.0.0', '0.1.2.3', '::'],
    ['a link-local address', '169.254.0.1', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
    ['a multicast address', '224.0.0.1', '239.255.255.255', 'ff02::1'],
    ['a broadcast address', '255.255.255.255'],
    ['a reserved address', '240.0.0.1', '250.1.2.3', '255.255.255.254'],
    ['a site-local address', 'fec0::1', 'feff:ffff::1'],
    ['a relay of 6to4', '192.88.99.1', '::ffff:192.88.99.1'],
    ['a Teredo address', '2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['an ISATAP address', 'fd00::5efe:127.0.0.1', '2001:db8::200:5efe:7f00:1', 'fd00::5efe:10.0.0.1'],
    ['the metadata service of a cloud', 'fd00:ec2::254', '100.100.100.200', '168.63.129.16', '192.0.0.192'],
    ['a loopback address', '::ffff:127.0.0.1', '::127.0.0.1', '::ffff:0:127.0.0.1', '::ffff:7f00:1'],
    ['a loopback address', '64:ff9b::7f00:1', '2002:7f00:1::'],
    ['a translated address', '64:ff9b:1::7f00:1', '64:ff9b:1:7f00:0:100::', '64:ff9b:1::a00:1'],
    ['a link-local address', '169.254.169.254', '::ffff:169.254.169.254', '2002:a9fe:a9fe::'],
    ['an unspecified address', '::ffff:0.0.0.0', '64:ff9b::'],
  ])('not by default, because it is %s: %s', (name, ...refused) => {
    for (const address of refused)
      expect([address, byDefault.problem(address)]).toEqual([address, `it is ${name}`]);
  });

  it('opens a special range only by an entry that lies wholly within it', () => {
    const loopback = addresses(...everything, '127.0.0.0/8');
    expect(loopback.problem('127.0.0.1')).toBeUndefined();
    expect(loopback.problem('::ffff:127.0.0.1')).toBeUndefined();
    expect(loopback.problem('::1')).toBe('it is a loopback address');
    expect(addresses('64.0.0.0/2').problem('127.0.0.1')).toBe('it is a loopback address');
    expect(addresses('::1/128').problem('::1')).toBeUndefined();
  });

  it('opens no more of a special range than is listed', () => {
    const one = addresses(...everything, '127.0.0.1/32');
    expect(one.problem('127.0.0.1')).toBeUndefined();
    expect(one.problem('127.0.0.2')).toBe('it is a loopback address');
  });

  it('keeps metadata services closed when only the range around them is opened', () => {
    const range = addresses('169.254.0.0/16');
    expect(range.problem('169.254.10.1')).toBeUndefined();
    expect(range.problem('169.254.169.254')).toBe('it is the metadata service of a cloud');
    expect(addresses('169.254.169.254/32').problem('169.254.169.254')).toBeUndefined();
  });

  it('refuses what no entry lists, also in IPv6 forms of it', () => {
    const narrow = addresses('10.0.0.0/8', '64:ff9b::/96', '::/0');
    expect(narrow.problem('10.1.1.1')).toBeUndefined();
    for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '64:ff9b::808:808', '2002:808:808::1'])
      expect([address, narrow.problem(address)]).toEqual([address, 'it is not listed']);
    expect(addresses().problem('10.1.1.1')).toBe('it is not listed');
  });

  it.each(['', 'localhost', '0x7f.1', '2130706433', '[::1]', '127.1'])(
    'refuses %j, which is no address',
    (text) => {
      expect(byDefault.problem(text)).toBe('it is no address');
    },
  );

  it('gives every IPv6 form of an IPv4 address the verdict of that address', () => {
    const { problem } = { problem: (text: string) => byDefault.problem(text) };
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
        const groups = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        fc.pre(!['0:0', '0:1'].includes(groups));
        for (const six of [`::ffff:${groups}`, `::${groups}`, `64:ff9b::${groups}`, `2002:${groups}::1`])
          expect(problem(six)).toBe(problem(address));
      }),
    );
  });

  it.each(['10.0.0.0', 'x', '10.0.0.1/8', ''])('refuses the setting %j by name', (entry) => {
    const make = () => addresses('10.0.0.0/8', entry);
    expect(make).toThrow(RangeError);
    expect(make).toThrow(`"${entry}" is no range of addresses`);
  });
});

describe('lookup', () => {
  const four = (address: string): LookupAddress => ({ address, family: 4 });
  const six = (address: string): LookupAddress => ({ address, family: 6 });
  const resolving = (...found: LookupAddress[]) => new TargetAddresses(everything, async () => found);
  const all = (target: TargetAddresses) =>
    promisify(target.lookup as never)('target.test' as never, { all: true } as never) as unknown;

  it('hands out exactly the addresses that it checked', async () => {
    expect(await all(resolving(four('10.0.0.1'), six('fd00::1')))).toEqual([
      four('10.0.0.1'),
      six('fd00::1'),
    ]);
  });

  it('hands out one address to who asks for one', async () => {
    const target = resolving(four('10.0.0.1'), six('fd00::1'));
    const one = (options: object) =>
      new Promise((resolve, reject) =>
        target.lookup('target.test', options, (error, address, family) =>
          error ? reject(error) : resolve([address, family]),
        ),
      );
    expect(await one({})).toEqual(['10.0.0.1', 4]);
    expect(await one({ family: 6 })).toEqual(['fd00::1', 6]);
    expect(await one({ family: 'IPv6' })).toEqual(['fd00::1', 6]);
  });

  it('refuses all when any of them may not be dialled, also of another family than was asked for', async () => {
    const error = await Promise.resolve(all(resolving(four('10.0.0.1'), six('::1')))).catch((one) => one);
    expect(error).toBeInstanceOf(LatchkeyError);
    expect(error).toMatchObject({
      code: 'ERR_TARGET_ADDRESS',
      message: 'the address of a target may not be dialled: it is a loopback address',
    });
    const mixed = resolving(four('10.0.0.1'), six('::1'));
    const failed = await new Promise((resolve) => mixed.lookup('target.test', { family: 4 }, resolve));
    expect(failed).toMatchObject({ code: 'ERR_TARGET_ADDRESS' });
  });

  it('fails when there is no address', async () => {
    await expect(all(resolving())).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('passes the error of the resolver on', async () => {
    const target = new TargetAddresses(everything, async () => {
      throw Object.assign(new Error('x'), { code: 'EAI_AGAIN' });
    });
    await expect(all(target)).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });

  it('bounds how many addresses it hands out, after it has checked every one', async () => {
    const many = Array.from({ length: 300 }, (_, index) => four(`10.0.1.${index % 250}`));
    expect(await all(resolving(...many))).toHaveLength(16);
    await expect(all(resolving(...many, four('127.0.0.1')))).rejects.toMatchObject({
      code: 'ERR_TARGET_ADDRESS',
    });
  });

  it('judges an address without asking for it', async () => {
    const target = new TargetAddresses(everything, () => Promise.reject(new Error('asked')));
    const judge = (address: string) =>
      new Promise((resolve) => target.lookup(address, { all: true }, (...answer) => resolve(answer)));
    expect(await judge('10.0.0.1')).toEqual([null, [four('10.0.0.1')]]);
    expect(await judge('::1')).toMatchObject([{ code: 'ERR_TARGET_ADDRESS' }, '']);
  });

  it('asks the system for names like localhost', async () => {
    await expect(
      new Promise((resolve, reject) =>
        byDefault.lookup('localhost', { all: true }, (error) => (error ? reject(error) : resolve(undefined))),
      ),
    ).rejects.toMatchObject({ code: 'ERR_TARGET_ADDRESS' });
  });
});
