# SPDX-License-Identifier: BSD-3-Clause
"""Containers of task-local files, on any number of ranks."""
import numpy as np

import glean
from ranks import COMM, RANK, SIZE, Ranks, main


class Containers(Ranks):
    def write(self, session, path, **options):
        with session.create_container(path, chunk_bytes=1500, block_bytes=512, name=f"rank{RANK}/a", **options) as task_file:
            self.assertEqual(task_file.bytes_avail_in_block, 4 * 512 - 64)
            self.assertEqual(task_file.write(np.arange(100.0) + RANK), 800)
            task_file.begin_file(f"rank{RANK}/b")
            task_file.ensure_free_space(1200)
            task_file.write(b"text")
            task_file.write(np.arange(300, dtype="i4").reshape(3, 100)[:, ::2])   # a section with gaps
            self.assertEqual(task_file.tell(), 800 + 4 + 600)

    def expect(self, container_input):
        tasks = container_input.tasks()
        self.assertEqual([task.task for task in tasks], list(range(SIZE)))
        self.assertEqual(tasks[0], glean.ContainerTask(0, 2, 1404))
        self.assertEqual(container_input.files()[1], glean.ContainerFile("rank0/b", 0, 800, 604))
        self.assertTrue(container_input.is_complete)
        for rank in range(SIZE):
            with container_input.open(rank) as task_input:
                values = np.empty(100)
                self.assertEqual(task_input.readinto(values), 800)
                np.testing.assert_array_equal(values, np.arange(100.0) + rank)
                self.assertEqual((task_input.tell(), task_input.size, task_input.eof), (800, 1404, False))
                self.assertEqual(task_input.bytes_avail_in_block, 604)
                self.assertEqual(task_input.read(4), b"text")
                rest = np.frombuffer(task_input.read(), "i4")
                np.testing.assert_array_equal(rest, np.arange(300, dtype="i4").reshape(3, 100)[:, ::2].ravel())
                self.assertTrue(task_input.eof)
                self.assertEqual(task_input.read(), b"")
                self.assertEqual(task_input.seek(1, chunk=1), 801)
                self.assertEqual(task_input.read(3), b"ext")
                with self.assertRaisesRegex(glean.OutOfRange, "there is no byte"):
                    task_input.seek(1405)
            task_input = container_input.open(f"rank{rank}/b")
            self.assertEqual(task_input.read(4), b"text")
            task_input.close()
        with self.assertRaisesRegex(glean.NotFound, "4711"):
            container_input.open(4711)

    def test_every_rank_reads_what_every_rank_has_written(self):
        path = self.path("a.sion")
        with self.session() as session:
            self.write(session, path, files=min(2, SIZE), tasks_per_writer=1)
            container = session.open_container(path)
            self.expect(container)
            container.close()
            with self.assertRaisesRegex(glean.InvalidState, "closed"):
                container.tasks()
            COMM.barrier()
        with glean.open_container(path) as container:
            self.expect(container)
        COMM.barrier()

    def test_a_file_of_another_kind_is_refused_as_a_container_and_as_an_input(self):
        path = self.path(f"text.{RANK}")
        path.write_text("no numbers\n")
        with self.session() as session:
            for opens in (session.open_container, session.open_input, glean.open_container):
                with self.assertRaisesRegex(glean.InvalidArgument, "cannot read '.*text"):
                    opens(path)
        with self.assertRaisesRegex(glean.InvalidArgument, "it is not a container"):
            glean.open_container(path)
        COMM.barrier()

    def test_an_array_of_any_type_and_shape_is_read_into(self):
        path = self.path("a.sion")
        values = np.array([1 + 2j, 3 - 4j]) * (RANK + 1)
        records = np.array([(1, 2.5), (RANK, -1)], dtype=[("number", "i4"), ("value", ">f8")])
        with self.session() as session:
            with session.create_container(path) as task_file:
                for each in (values, records, np.empty((0, 3))):
                    task_file.write(each)
            with session.open_container(path) as container:
                task_input = container.open(RANK)
                for each in (values, records, np.empty((0, 3))):
                    back = np.empty_like(each)
                    self.assertEqual(task_input.readinto(back), each.nbytes)
                    np.testing.assert_array_equal(back, each)
                self.assertTrue(task_input.eof)
                for wrong, why in ((np.empty((4, 4))[:, ::2], "contiguous"), (b"text", "writable"), (7, "bytes-like")):
                    with self.assertRaisesRegex((BufferError, TypeError, ValueError), why):
                        task_input.readinto(wrong)
            COMM.barrier()

    def test_levels_can_be_waited_for(self):
        path = self.path("a.sion")
        with self.session() as session:
            task_file = session.create_container(path)
            task_file.write(b"text")
            task_file.wait("written")
            self.assertFalse(path.exists())
            COMM.barrier()
            task_file.close("durable")
            self.assertTrue(path.exists())
            task_file.close()
            COMM.barrier()

    def test_one_that_is_given_up_or_has_failed_is_not_published(self):
        path = self.path("a.sion")
        with self.session() as session:
            with self.assertRaises(ZeroDivisionError):
                with session.create_container(path) as task_file:
                    task_file.write(1 // 0)
            task_file = session.create_container(path)
            task_file.write(b"text")
            task_file.abandon()
            task_file = session.create_container(path)
            if RANK == 0:
                with self.assertRaises(TypeError):
                    task_file.write(4711)
            with self.assertRaisesRegex(glean.InvalidArgument, "cannot write to"):
                task_file.close()
            with self.assertRaisesRegex(glean.InvalidArgument, "tasks cannot be in"):
                session.create_container(path, files=SIZE + 1)
            session.wait("durable")
            self.assertFalse(path.exists())
            COMM.barrier()


if __name__ == "__main__":
    main()
