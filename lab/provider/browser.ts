import { Agent, request } from 'undici';

/** The doings of a person at the pages of their provider. */
export interface Visit {
  readonly login: string;
  readonly password: string;
  /** Typed where a page asks for the code of a device. */
  readonly code?: string;
  /** Says no to the device. */
  readonly refuses?: boolean;
}

interface Page {
  readonly url: string;
  readonly status: number;
  readonly text: string;
}

const maxSteps = 20;

/**
 * A browser without a screen: follows redirects, keeps cookies, and fills in forms. Returns the last page. The way back to a program on this
 * machine, over plain http, is one of its pages.
 */
export async function browse(start: string, ca: string, visit: Visit): Promise<Page> {
  const dispatcher = new Agent({ connect: { ca } });
  const cookies = new Map<string, string>();
  const load = async (url: string, form?: string): Promise<Page> => {
    const { statusCode, headers, body } = await request(url, {
      dispatcher,
      method: form === undefined ? 'GET' : 'POST',
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body: form ?? null,
    });
    for (const cookie of [headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const text = await body.text();
    const { location } = headers;
    return location === undefined
      ? { url, status: statusCode, text }
      : await load(new URL(String(location), url).href);
  };
  try {
    let page = await load(start);
    let wasAsked = false;
    for (let step = 0; page.text.includes('<form'); step += 1) {
      if (step === maxSteps) throw new Error(`the pages do not end: ${page.text}`);
      // A code that is asked for again was wrong, or the person has said no.
      if (wasAsked && asksForCode(page)) return page;
      wasAsked ||= asksForCode(page);
      page = await load(...filledIn(page, visit));
    }
    return page;
  } finally {
    await dispatcher.close();
  }
}

const asksForCode = ({ text }: Page): boolean => /<input[^>]* type="text" name="user_code"/.test(text);

/** Where the form goes, and with what in it. */
function filledIn(
  { url, text }: Page,
  { login, password, code, refuses = false }: Visit,
): [url: string, form: string] {
  const action = /<form[^>]* action="([^"]*)"/.exec(text)?.[1] ?? url;
  const form = new URLSearchParams();
  for (const [tag] of text.matchAll(/<input[^>]*>/g))
    form.set(/ name="([^"]*)"/.exec(tag)?.[1] ?? '', / value="([^"]*)"/.exec(tag)?.[1] ?? '');
  if (form.has('login')) form.set('login', login);
  if (form.has('password')) form.set('password', password);
  if (form.get('user_code') === '') form.set('user_code', code ?? '');
  if (form.has('confirm') && refuses) {
    form.delete('confirm');
    form.set('abort', 'yes');
  }
  return [new URL(action, url).href, form.toString()];
}
