import { execFile } from 'node:child_process';
import { readdir, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * Whether a process of this user has a file open, given by its real path. Also false if that cannot be found out: for
 * other users' processes, on Windows, and on systems with neither `/proc` nor `lsof`.
 */
export async function hasOpen(pid: number, file: string): Promise<boolean> {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  if (process.platform === 'win32') return false;
  return process.platform === 'linux' ? isAmongOpen(pid, file) : isToldByLsof(pid, file);
}

async function isAmongOpen(pid: number, file: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`;
  const descriptors = await readdir(folder).catch(() => []);
  const goals = await Promise.all(descriptors.map((name) => readlink(`${folder}/${name}`).catch(() => '')));
  return goals.includes(file);
}

async function isToldByLsof(pid: number, file: string): Promise<boolean> {
  const asked = promisify(execFile)('lsof', ['-t', '-a', '-p', String(pid), '--', file]);
  const told = await asked.catch(() => ({ stdout: '' }));
  return told.stdout.trim() === String(pid);
}
