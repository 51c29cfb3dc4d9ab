import { describe, expect, test } from 'vitest';
import { ApiError } from '../../src/contract/errors.ts';
import { resolveTarget } from '../../src/http/target.ts';

describe('resolveTarget()', () => {
  test.each([
    ['https://api.example.com', 'https://api.example.com', ''],
    ['https://api.example.com/', 'https://api.example.com', ''],
    ['https://api.example.com:8443/base/path/', 'https://api.example.com:8443', '/base/path'],
    ['http://localhost:8080', 'http://localhost:8080', ''],
    ['http://127.0.0.1:1', 'http://127.0.0.1:1', ''],
    ['http://127.1.2.3:1', 'http://127.1.2.3:1', ''],
    ['http://[::1]:9000', 'http://[::1]:9000', ''],
    ['HTTP://LOCALHOST:80', 'http://localhost', ''],
  ])('accepts %s', (url, origin, basePath) => {
    expect(resolveTarget({ url })).toMatchObject({ origin, basePath, socketPath: undefined });
  });

  test.each([
    ['http://example.com', /plain http/],
    ['http://10.0.0.1:80', /plain http/],
    ['http://0.0.0.0', /plain http/],
    ['http://localhost.evil.example', /plain http/],
    ['http://127.0.0.1.evil.example', /plain http/],
    ['http://128.0.0.1', /plain http/],
    ['ftp://localhost', /scheme/],
    ['file:///etc/passwd', /scheme/],
    ['ws://localhost', /scheme/],
    ['javascript:alert(1)', /scheme/],
    ['https://example.com?x=1', /query or a fragment/],
    ['https://example.com/?', /query or a fragment/],
    ['https://example.com/#top', /query or a fragment/],
    ['example.com', /not a URL/],
    ['', /not a URL/],
    ['https://', /not a URL/],
  ])('refuses %s', (url, why) => {
    expect(() => resolveTarget({ url })).toThrow(ApiError);
    expect(() => resolveTarget({ url })).toThrow(why);
  });

  test.each(['https://user:hunter2@example.com', 'https://hunter2@example.com', 'https://user:hunter2@exa mple.com'])(
    'refuses credentials in %s and does not repeat them',
    (url) => {
      let message = '';
      try {
        resolveTarget({ url });
      } catch (error) {
        message = String(error);
      }
      expect(message).toMatch(/credentials/);
      expect(message).not.toContain('hunter2');
    },
  );

  test.each(['', 'a\0b'])('refuses the socket path %j', (socketPath) => {
    expect(() => resolveTarget({ socketPath })).toThrow(/socket path/);
  });
});
