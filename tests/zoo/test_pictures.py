# SPDX-License-Identifier: MIT
"""Rooms and faces of the zoo, without its networks: things are where they are said to be, and scores
count what they say."""

import unittest

import numpy as np

import face_tasks
import faces
import lines


def maps(size, segments):
    """Returns the outputs of a network that finds exactly these segments."""
    scores, offsets = np.zeros((1, size, size, 1)), np.zeros((1, size, size, 4))
    for ends in np.array(segments) * size:
        middle = np.rint((ends[:2] + ends[2:]) / 2).astype(int)
        scores[0, middle[1], middle[0]] = 0.9
        offsets[0, middle[1], middle[0]] = ends - np.tile(middle, 2)
    return scores, offsets


class Rooms(unittest.TestCase):
    def test_the_same_seed_draws_the_same_room(self):
        first, second = (lines.picture(64, np.random.default_rng([3, 1])) for _ in range(2))
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_array_equal(first[1], second[1])

    def test_colours_change_across_the_segments(self):
        pixels, segments = lines.picture(320, np.random.default_rng([3, 2]))
        self.assertEqual(pixels.shape, (320, 320, 4))
        self.assertTrue((pixels[..., 3] == 1).all())
        for ends in segments * 320:
            along = ends[2:] - ends[:2]
            across = np.array([-along[1], along[0]]) / np.linalg.norm(along) * 4
            sides = []
            for side in (across, -across):
                middle = np.clip((ends[:2] + ends[2:]) / 2 + side, 2, 317).astype(int)
                sides.append(pixels[middle[1] - 1 : middle[1] + 2, middle[0] - 1 : middle[0] + 2, :3])
            difference = np.abs(sides[0].mean(axis=(0, 1)) - sides[1].mean(axis=(0, 1))).max()
            self.assertGreater(difference, 4, ends)

    def test_all_segments_and_no_others_are_worth_1(self):
        segments = np.array([[0.1, 0.1, 0.8, 0.1], [0.5, 0.2, 0.5, 0.9]])
        self.assertEqual(lines.score(*maps(80, segments), [segments]), 1)
        self.assertEqual(lines.score(*maps(80, segments[:, [2, 3, 0, 1]]), [segments]), 1)

    def test_one_of_two_is_worth_two_thirds_and_none_nothing(self):
        segments = np.array([[0.1, 0.1, 0.8, 0.1], [0.5, 0.2, 0.5, 0.9]])
        self.assertAlmostEqual(lines.score(*maps(80, segments[:1]), [segments]), 2 / 3)
        self.assertEqual(lines.score(*maps(80, segments + 0.05), [segments]), 0)

    def test_a_segment_too_short_is_none(self):
        self.assertEqual(len(lines.segments_of(*(part[0] for part in maps(80, [[0.5, 0.5, 0.52, 0.5]])))), 0)


def upright(roll=0.0, is_open=True):
    who = faces.person(np.random.default_rng(4))
    return faces.Face(who, (160.0, 120.0), 60.0, roll, is_open)


class Faces(unittest.TestCase):
    def test_the_same_seed_draws_the_same_face(self):
        for name in ("blazeface_front", "face_points", "face_recognition"):
            kind = face_tasks.KINDS[name]
            with self.subTest(name):
                np.testing.assert_array_equal(kind.samples(2, 3)[0], kind.samples(2, 3)[0])

    def test_pupils_are_darker_than_the_skin_and_where_they_are_said_to_be(self):
        face = upright(roll=10)
        pixels = faces.picture(320, 240, [face], np.random.default_rng(4)).mean(axis=-1)
        cheek = np.rint(face.at(0.55, 0.35)).astype(int)
        for x, y in np.rint(face.points()[:2]).astype(int):
            self.assertLess(pixels[y, x], 0.6 * pixels[cheek[1], cheek[0]])

    def test_points_where_they_were_drawn_count(self):
        face = upright(roll=-7)
        x, y = face.at(0.0, 0.15)
        places = (face.points() - [x, y]) / (2 * 1.08 * face.radius) + 0.5
        output = np.zeros((1, 68, 2))
        for place, group in zip(places, [(37, 38, 40, 41), (43, 44, 46, 47), (30,), (48,), (54,)]):
            output[0, list(group)] = place
        score = face_tasks.points([face])
        self.assertEqual(score({"output": output}), 1)
        output[0, 30] += 0.2
        self.assertAlmostEqual(score({"output": output}), 0.8)

    def test_boxes_of_both_grids_lie_where_their_cells_are(self):
        size = 128
        outputs = {"Identity:0": np.full((1, 512, 1), -9.0), "Identity_1:0": np.full((1, 384, 1), -9.0),
                   "Identity_2:0": np.zeros((1, 512, 16)), "Identity_3:0": np.zeros((1, 384, 16))}  # fmt: skip
        outputs["Identity:0"][0, (2 * 16 + 4) * 2] = 3  # row 2, column 4
        outputs["Identity_2:0"][0, (2 * 16 + 4) * 2, :4] = [4, -4, 32, 16]
        outputs["Identity_1:0"][0, (6 * 8 + 5) * 6 + 3] = 2
        outputs["Identity_3:0"][0, (6 * 8 + 5) * 6 + 3, :4] = [0, 0, 16, 16]
        found = face_tasks._found_in_square(size)(outputs, 0) * size / face_tasks.WIDTH
        np.testing.assert_allclose(found, [[24, 8, 56, 24], [80, 96, 96, 112]])

    def test_a_box_without_a_face_costs(self):
        face = np.array([[10.0, 10, 30, 30]])
        found = {"right": face, "more": np.vstack([face, face + 100]), "none": np.zeros((0, 4))}
        score = face_tasks.finding(lambda outputs, index: outputs)([face])
        self.assertEqual([score(boxes) for boxes in found.values()], [1, 0.5, 0])

    def test_faces_are_turned_and_scaled_to_their_places(self):
        face = upright(roll=12)
        pixels = np.zeros((240, 320, 3), np.float32)
        for x, y in np.rint(face.points()).astype(int):
            pixels[y - 1 : y + 2, x - 1 : x + 2] = 255
        aligned = face_tasks._aligned(pixels, face)
        for x, y in np.rint(face_tasks.ALIGNED).astype(int):
            self.assertGreater(aligned[y - 7 : y + 8, x - 7 : x + 8].max(), 0)

    def test_the_second_picture_nearest_to_the_first_is_recognised(self):
        described = np.array([[1.0, 0], [0, 1], [0.9, 0.1], [0.8, 0.2]])
        self.assertEqual(face_tasks.recognised(2)({"output": described}), 0.5)

    def test_the_first_asked_decides_what_is_right(self):
        score = face_tasks.as_float(face_tasks.classes)(None)
        self.assertEqual(score({"output": np.array([[1, 0], [0, 1]])}), 1)
        self.assertEqual(score({"output": np.array([[1, 0], [1, 0]])}), 0.5)

    def test_a_choice_costs_what_the_first_asked_gives_it_less(self):
        score = face_tasks.expected_right(None)
        three_to_one, even = [np.log(3), 0], [7, 7]
        self.assertAlmostEqual(score({"output": np.array([three_to_one, even])}), (0.75 + 0.5) / 2)
        self.assertAlmostEqual(score({"output": np.array([[9, 1], [1, 9]])}), (0.75 + 0.5) / 2)
        self.assertAlmostEqual(score({"output": np.array([[1, 9], [9, 1]])}), (0.25 + 0.5) / 2)

    def test_an_angle_of_sharp_chances(self):
        chances = np.full((1, 66), -50.0)
        chances[0, 35] = 50
        self.assertAlmostEqual(face_tasks._angle(chances)[0], 35 * 3 - 99)


if __name__ == "__main__":
    unittest.main()
